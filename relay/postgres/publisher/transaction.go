package publisher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Bounds of what the database is asked.
const (
	// claimWithin is far beyond what a claim takes: a path that swallows data is given up then.
	claimWithin = 20 * time.Second
	markWithin  = 20 * time.Second
	// endWithin is for what is rolled back; the database does so by itself where the connection ends.
	endWithin = time.Second
)

// transaction is that of a round. Its locks are held until its end.
type transaction struct {
	pgx.Tx
	window  int        // how far its claim looks, 0: it is near, walking: it walks over aggregates
	from    *aggregate // behind which a walk begins, nil: at the first
	indexed bool       // the optional index is there
	done    bool
}

// walking is the window of a claim that walks.
const walking = -1

func (t *transaction) near() bool { return t.window == 0 }

func (t *transaction) walks() bool { return t.window == walking }

// begin opens a transaction. The caller ends it. window is how far its claim looks, as of transaction. indexed tells that the optional index is there.
func begin(ctx context.Context, pool *pgxpool.Pool, window int, indexed bool) (*transaction, error) {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	t := &transaction{window: window, indexed: indexed}
	sql := beginSQL
	switch {
	case t.near():
		sql = beginNearSQL
	case t.walks():
		sql = beginWalkSQL
	case indexed:
		sql = beginIndexedSQL
	}
	var err error
	t.Tx, err = pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: sql})
	if err != nil {
		return nil, fmt.Errorf("begin a round: %w", err)
	}
	return t, nil
}

// commit ends it. With an error it is not known whether the marks are there.
func (t *transaction) commit(ctx context.Context) error {
	t.done = true
	if err := t.Commit(ctx); err != nil {
		return fmt.Errorf("commit a round: %w", err)
	}
	return nil
}

// end gives up what was not committed.
func (t *transaction) end(ctx context.Context) {
	if t.done {
		return
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	_ = t.Rollback(ending) // of no consequence: nothing was marked
}

// within outlives the end of ctx: it ends at limit, or grace after ctx did, whichever is first.
func within(ctx context.Context, limit, grace time.Duration) (context.Context, context.CancelFunc) {
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-work.Done():
		}
	})
	return work, func() { stop(); cancel() }
}
