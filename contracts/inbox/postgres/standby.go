package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// A standby's codes, for a write and for READ WRITE in its BEGIN. The store's statements have no other cause of them.
const (
	readOnly    = "25006"
	unsupported = "0A000"
)

// leaveStandby has the pool connect anew where err, of a statement of the store's own, is that of a database that takes no
// writes: after a failover the address leads to the new primary, and connections to what is a standby now answer for as long
// as they live, which is an hour.
func (s *Store) leaveStandby(err error) {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && (refused.Code == readOnly || refused.Code == unsupported) {
		s.pool.Reset()
	}
}
