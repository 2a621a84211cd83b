package publisher

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// readOnly is the database's code for a write that it does not take.
const readOnly = "25006"

// leaveStandby has the pool connect anew where err is that of a database that takes no writes: after a failover the address leads to
// the new primary, and connections to what is a standby now answer for as long as they live, which is an hour.
func (p *Publisher) leaveStandby(err error) {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == readOnly {
		p.opts.Pool.Reset()
	}
}
