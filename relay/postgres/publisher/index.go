package publisher

import (
	"context"

	"go.uber.org/zap"
)

// indexSQL tells whether the optional index is there, which has what waits in order, with the one that has it by aggregate.
const indexSQL = `SELECT count(*) = 2 FROM pg_index
	WHERE indrelid = to_regclass('outbox_events') AND indisvalid
		AND indexrelid IN (to_regclass('outbox_events_claim_idx'), to_regclass('outbox_events_waiting_idx'))`

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
