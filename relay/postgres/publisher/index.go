package publisher

import (
	"context"

	"go.uber.org/zap"
)

// indexSQL tells whether the optional index is there, which has what waits in order.
const indexSQL = `SELECT EXISTS (
	SELECT FROM pg_index
	WHERE indrelid = to_regclass('outbox_events') AND indexrelid = to_regclass('outbox_events_claim_idx') AND indisvalid
)`

// lookForIndex notes whether the optional index is there. While the database does not tell, what was
// known stands; a claim that takes the one for the other is right as well, and slower.
func (p *Publisher) lookForIndex(ctx context.Context) {
	var found bool
	if err := p.opts.Pool.QueryRow(ctx, indexSQL).Scan(&found); err != nil {
		p.opts.Log.Debug("not known whether the optional index is there", zap.Error(err))
		return
	}
	p.indexed.Store(found)
}
