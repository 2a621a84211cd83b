package publisher

// timedSQL is whether a message can have a row's created_at: others may insert infinity, or a time before 1970 or
// after 9999, which Go, RFC 3339 or postgres.Decode have no place for.
const timedSQL = `(created_at >= '1970-01-01 00:00:00Z' AND created_at < '10000-01-01 00:00:00Z')`

// timelessText is the last_error of a row of which that is not so. It can never be published as it is.
const timelessText = "created_at is no time from 1970 to 9999: append the event anew under another ID, and set published_at of this row"
