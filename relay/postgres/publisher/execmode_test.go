package publisher

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/ier"
)

// A URL may say how statements are sent (default_query_exec_mode), as for a pooler that knows no prepared ones. A mark that can be
// sent in some ways alone would have the same rows published again and again in the others.
func TestWhateverWayStatementsAreSent(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeCacheDescribe} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			f := setup(t, 0)
			list := events(6, 3)
			poison := list[0]
			f.append(list...)
			f.shelf.failing(func(id uuid.UUID, try int) error {
				if id == poison.id && try <= 2 {
					return errRefused
				}
				return nil
			})
			o := f.options()
			o.MaxAttempts = 2
			o.Pool = f.connect(func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			f.start(o)
			f.await("one is parked, and others are published", func() bool {
				return f.count("attempt_count = 2") == 1 && f.count("published_at IS NULL") == 3
			})
			if left, err := Retry(t.Context(), o.Pool, []uuid.UUID{poison.id}); err != nil || len(left) != 0 {
				t.Fatalf("retry leaves %v: %v", left, err)
			}
			f.awaitPublished()
			f.judge(list)
			if got := len(f.shelf.messages()); got != len(list) {
				t.Errorf("%d messages of %d rows", got, len(list))
			}
			again := newShelf()
			if failed, err := Republish(t.Context(), o.Pool, ier.Target(again), "billing", []uuid.UUID{poison.id}); err != nil || len(failed) != 0 || len(again.messages()) != 1 {
				t.Errorf("republished are %d, and %v are not: %v", len(again.messages()), failed, err)
			}
			p, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range []look{{window: 200}, {}, {window: walking}, {window: walking, from: &aggregate{"vendor_order", poison.aggregate}}} {
				if r := p.round(t.Context(), l); r.err != nil {
					t.Errorf("a round that looks as %+v: %v", l, r.err)
				}
			}
			if err := p.countOnce(t.Context()); err != nil {
				t.Error(err)
			}
			if rows, err := List(t.Context(), o.Pool, false, 2, 10); err != nil || len(rows) != 0 {
				t.Errorf("listed are %v: %v", rows, err)
			}
		})
	}
}
