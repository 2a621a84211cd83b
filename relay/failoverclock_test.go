package relay_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// The relays' wall clocks are wrong by an hour. Leases are neither stolen nor
// stuck, as the server's clock alone judges them; retries and replays come when
// they are due.
func TestClocksThatAreWrong(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"slow by an hour": time.Hour, "fast by an hour": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, cloudAhead(t, ahead))
			f.retries(3, 20*time.Millisecond)
			f.catalog.Replay.Delays = slices.Repeat([]time.Duration{50 * time.Millisecond}, 10_000) // until it is mended
			var mended atomic.Bool
			f.script(func(_ context.Context, _ string, r *contracts.Record) error {
				if r.AggregateID == "sick" && !mended.Load() {
					return failure(contracts.Attributable, "Internal")
				}
				return nil
			})
			f.withSiblings()
			const term = steady // none may lapse while both renew, however late this process gets its turn
			a := f.member("a", term, nil)
			f.spread(map[string]int{"a": 6})
			b := f.member("b", term, nil)
			f.spread(map[string]int{"a": 3, "b": 3})
			flow := f.flow(f.catalog, 10*flowEvery)                     // it lasts for two terms
			sick := f.series("wsOutbox", "TaskCompleted", "sick", 1, 1) // SAFE_AUTO
			f.append(sick, 1)
			f.eventually("it is retried until it is dead", func() bool { return f.unmarked(sick, contracts.Dead) == 0 })
			f.eventually("it is replayed again and again", func() bool { return f.item(sick[0]).Replays >= 2 })
			mended.Store(true)
			f.delivered(sick)
			if n := a.events("lost") + b.events("lost"); n > 0 {
				t.Errorf("%d leases were lost while both instances renewed them", n)
			}

			a.cutFirestore()
			cut := f.leases()
			taken := f.spread(map[string]int{"b": 6})
			for _, outbox := range cut.Of("a") {
				if idle := untaken(cut[outbox], taken[outbox]); idle < term {
					t.Errorf("%s was taken %v after its last renewal, want its term of %v at least", outbox, idle, term)
				}
			}
			a.mendFirestore()
			f.spread(map[string]int{"a": 3, "b": 3})
			records := flow.end()
			if got := f.delivered(records); got.disordered > 0 {
				t.Errorf("got %+v, want every record in order", got)
			}
			for i, fields := range f.documents(records) {
				if fields["attempts"] != nil {
					t.Errorf("record %s has %v attempts, want none", records[i].ID, fields["attempts"])
				}
			}
		})
	}
}
