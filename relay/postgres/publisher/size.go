package publisher

// claimBytes bounds what the payloads of a claim take up in memory; the first row is taken whatever its size. Batch alone
// would let a few dozen rows of many megabytes end the process. What is cut off is left to the next round.
const claimBytes = 32 << 20

// sizedSQL are the rows of taken that a claim returns: the oldest, up to $5 bytes. What the table has in few bytes is taken
// for as many, so that only the payload of a large row, which may be compressed there, is written out twice. That takes some
// 30 ms for one of 9 MB, and up to 1,000 are taken: by its LIMIT the cut measures none behind the first that does not fit.
const sizedSQL = `cut AS MATERIALIZED (
	SELECT created_at, id
	FROM (
		SELECT created_at, id, row_number() OVER oldest AS number,
			sum(CASE WHEN pg_column_size(payload_json) < 1000 THEN pg_column_size(payload_json) ELSE octet_length(payload_json::text) END) OVER oldest AS bytes
		FROM taken
		WINDOW oldest AS (ORDER BY created_at, id ROWS UNBOUNDED PRECEDING)
	) sized
	WHERE number > 1 AND bytes > $5
	ORDER BY created_at, id
	LIMIT 1
), fitting AS (
	SELECT * FROM taken WHERE ((created_at, id) < (SELECT created_at, id FROM cut)) IS NOT FALSE
)`
