package publisher

// claimBytes bounds what the payloads of a claim take up in memory; the first row is taken whatever its size. Batch alone
// would let a few dozen rows of many megabytes end the process. What is cut off is left to the next round.
const claimBytes = 32 << 20

// sizedSQL are the rows of taken that a claim returns: the oldest, up to $5 bytes. What the table has in few bytes is taken
// for as many, so that only the payload of a large row, which may be compressed there, is written out twice.
const sizedSQL = `sized AS (
	SELECT *, sum(CASE WHEN pg_column_size(payload_json) < 1000 THEN pg_column_size(payload_json) ELSE octet_length(payload_json::text) END)
		OVER oldest AS bytes, row_number() OVER oldest AS number
	FROM taken
	WINDOW oldest AS (ORDER BY created_at, id ROWS UNBOUNDED PRECEDING)
), fitting AS (
	SELECT * FROM sized WHERE number = 1 OR bytes <= $5
)`
