package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/contracts/inbox"
)

// passes reports whether the failure of a transaction says nothing of what is in it: others stand in the
// way, or, once the handler has returned, the database is not there or out of what it needs. A
// handler's own statement that loses its connection may be what ends the server, and is counted. Its prepared
// statement, which pgx makes by itself, is lost where a pooler gives each transaction another session.
func passes(err error, handlers, closed bool) bool {
	if err == nil || errors.Is(err, inbox.ErrLost) {
		return false
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return closed && !handlers
	}
	switch e.Code {
	case "40001", "40P01", // a serialization failure, a deadlock
		"26000", "42P05": // the session has no such prepared statement, or has it from another client
		return true
	case "55P03", // no lock within lock_timeout
		"57P01", "57P02", "57P03": // the server is shut down, has crashed, starts
		return !handlers
	}
	class := e.Code[:min(2, len(e.Code))]
	return !handlers && (class == "08" || class == "53" || class == "58") // the connection, resources, the system beneath
}
