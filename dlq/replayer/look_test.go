package replayer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// counting is a Store that counts the documents that looks at what is due read.
type counting struct {
	dlq.Store
	looks, read atomic.Int64
}

func (c *counting) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	docs, err := c.Store.Query(ctx, q)
	upTo := func(w dlq.Where) bool { return w.Field == contracts.DeadFieldNextReplayAt && w.Op == "<=" }
	if slices.ContainsFunc(q.Where, upTo) {
		c.looks.Add(1)
		c.read.Add(int64(len(docs)))
	}
	return docs, err
}

// busyExecutor has n replays under way that do not end, and does not look for long.
func busyExecutor(t *testing.T, n int) (*fixture, *counting) {
	t.Helper()
	f := setup(t)
	store := &counting{Store: f.Store}
	f.Queue = f.NewQueue(store)
	f.Config.Poll, f.Config.Concurrency = time.Hour, 2*n
	f.Lanes.Follow(func(ctx context.Context, _ *dlq.Item, _ int) (dlq.Round, error) {
		<-ctx.Done()
		return dlq.Round{}, ctx.Err()
	})
	f.Bury(f.Apart(n, -time.Minute)...)
	f.Replayer()
	f.Eventually("all are under way", func() bool { return f.Lanes.Total() == n })
	return f, store
}

// TestLooksReadLittle: what is under way is not read again by each look.
func TestLooksReadLittle(t *testing.T) {
	const busy, more = 150, 30
	f, store := busyExecutor(t, busy)
	began, looks, read := time.Now(), store.looks.Load(), store.read.Load()
	for range more {
		i := f.Apart(1, 0)[0]
		f.Bury(i)
		f.Eventually("it is under way", func() bool { return f.Lanes.Count(i.ID) == 1 })
	}
	looks, read = store.looks.Load()-looks, store.read.Load()-read
	full := int64(time.Since(began)/(2*time.Second)) + 2 // looks at everything, one each 2 s
	if most := full*(busy+more) + looks*more/2; read > most {
		t.Errorf("%d looks read %d dead letters, want at most %d", looks, read, most)
	}
}

// TestLateRequestIsNotMissed: one whose time is before what was seen is found
// soon, though nobody rings again and the next poll is far.
func TestLateRequestIsNotMissed(t *testing.T) {
	thorough.EndToEnd(t)
	f, _ := busyExecutor(t, 3)
	late := f.Apart(2, -time.Hour)
	for _, i := range late {
		f.Bury(i)
		f.Eventually("it is under way", func() bool { return f.Lanes.Count(i.ID) == 1 })
	}
}

// reachability is lanes that tell which items' targets are out.
type reachability struct {
	*dlqtest.Lanes
	mu    sync.Mutex
	sick  map[string]bool
	asked int
}

func (r *reachability) Reachable(i *dlq.Item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sick[i.ID] {
		r.asked++
	}
	return !r.sick[i.ID]
}

// TestSickTargetTakesNothingOfTheRate: what cannot be delivered now leaves the
// rate of automatic replays to others.
func TestSickTargetTakesNothingOfTheRate(t *testing.T) {
	f := setup(t)
	f.Catalog.Replay.RatePerSecond = 0.0001 // one replay, and no other for hours
	f.Queue = f.NewQueue(f.Store)
	r := &reachability{Lanes: f.Lanes, sick: make(map[string]bool)}
	sick := f.Apart(5, -time.Minute)
	for _, i := range sick {
		r.sick[i.ID] = true
	}
	f.Bury(sick...)
	replayer, err := dlqtest.Replayer(f.Queue, r, f.Config)
	f.Start(replayer, err)
	f.Eventually("the sick ones were looked at", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.asked >= len(sick)
	})
	well := f.Die("tagOutbox", "TagLifecycleEvent", "tag-1", 1)
	f.Reaches(well.ID, contracts.DeadReplayed)
	if n := f.Lanes.Total(); n != 1 {
		t.Errorf("%d rounds, want 1", n)
	}
}

// TestBlockedRoundOfUnknownTargets: an item without pending targets means all of
// its route, and keeps what a round reached all the same.
func TestBlockedRoundOfUnknownTargets(t *testing.T) {
	f := setup(t)
	all := []string{"A", "B", "C"}
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, round int) (dlq.Round, error) {
		switch round {
		case 1:
			return dlq.Round{Missing: all, Acked: all[:1], Blocked: all[1:2]}, nil // C is in none of the lists
		case 2:
			return dlq.Round{Missing: i.PendingTargets, Acked: all[1:2], Failed: dlqtest.Fails(&dlq.Item{PendingTargets: all[2:]}).Failed}, nil
		}
		return dlq.Round{Missing: i.PendingTargets, Acked: i.PendingTargets}, nil
	})
	i := f.Letter("tagOutbox", "TagLifecycleEvent", "tag-1", 1)
	i.PendingTargets = nil
	f.Bury(i)
	f.Replayer()
	f.Reaches(i.ID, contracts.DeadReplayed)
	if got, want := fmt.Sprint(f.Lanes.Targets), "[[] [B C] [C]]"; got != want {
		t.Errorf("targets of the rounds %s, want %s", got, want)
	}
}
