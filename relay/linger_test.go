package relay

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// slowStore takes its time for a commit, and counts them.
type slowStore struct {
	Store
	takes time.Duration

	mu      sync.Mutex
	commits int
	writes  int
}

func (s *slowStore) Commit(ctx context.Context, writes []Write) ([]time.Time, error) {
	s.mu.Lock()
	s.commits++
	s.writes += len(writes)
	s.mu.Unlock()
	sleep(ctx, s.takes)
	return allAt(writes, time.Now()), ctx.Err()
}

// allAt is what a commit returns that changed all of its documents.
func allAt(writes []Write, at time.Time) []time.Time {
	return slices.Repeat([]time.Time{at}, len(writes))
}

// lingering starts a settler of the store, which drain ends. mark has it mark one more
// record.
func lingering(t *testing.T, store Store, tuning Tuning, backlogs int32) (mark, drain func()) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	metrics := newMetrics(nil, catalog)
	spec := catalog.Outbox("accOutbox")
	o := &outbox{spec: spec, ledger: newLedger(), health: newOutboxHealth(contracts.Share{Outbox: spec.Name, Of: 1}, spec, metrics, time.Now()), metrics: metrics}
	s := newSettler(contracts.CriticalLane, 50*time.Millisecond, store, tuning, time.Now, zap.NewNop(), metrics)
	s.behind.Store(backlogs)
	var running sync.WaitGroup
	running.Go(func() { s.run(t.Context()) })
	mark = func() {
		e := &entry{outbox: o, rec: &contracts.Record{Outbox: spec.Name}, route: spec.Events[0]}
		e.describe(Doc{}, nil)
		s.settle(&settlement{entry: e, kind: settleDelivered, at: time.Now()})
	}
	return mark, func() {
		s.drain()
		running.Wait()
	}
}

// settleSteadily marks 100 records a second for ten seconds, in fake time, with
// a server that takes that long for a commit, out of so many backlogs.
func settleSteadily(t *testing.T, takes time.Duration, backlogs int32) (commits int) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{takes: takes}
		mark, drain := lingering(t, store, DefaultTuning(), backlogs)
		const records = 1000
		for range records {
			mark()
			time.Sleep(10 * time.Millisecond)
		}
		drain()
		if commits = store.commits; store.writes != records {
			t.Errorf("%d records are marked, want %d", store.writes, records)
		}
	})
	return commits
}

// What comes while every commit is under way goes with the next one, all of it.
func TestACommitTakesAllThatWaitsWhenItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tuning := DefaultTuning()
		tuning.Commits = 1
		store := &slowStore{takes: 2 * time.Second}
		mark, drain := lingering(t, store, tuning, 0)
		mark()
		time.Sleep(time.Second)
		mark()
		time.Sleep(time.Second / 2) // longer than it lingers
		for range 8 {
			mark()
		}
		time.Sleep(time.Hour)
		drain()
		if store.commits != 2 || store.writes != 10 {
			t.Errorf("%d writes in %d commits, want 10 in 2", store.writes, store.commits)
		}
	})
}

func TestSlowServerIsGivenFewerCommits(t *testing.T) {
	tests := []struct {
		name        string
		takes       time.Duration
		backlogs    int32
		least, most int
	}{
		{"at once", 0, 0, 50, 210},                    // one for each linger of 50 ms
		{"300 ms", 300 * time.Millisecond, 0, 15, 60}, // 130, were they sent as fast as their number allows
		{"backlog", 0, 1, 900, 1000},                  // room in memory is what the reading waits for
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if n := settleSteadily(t, test.takes, test.backlogs); n < test.least || n > test.most {
				t.Errorf("%d commits for 1000 records, want %d to %d", n, test.least, test.most)
			}
		})
	}
}
