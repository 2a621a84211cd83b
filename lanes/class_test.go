package lanes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
)

// submitFor submits tasks of these ids that need these targets.
func submitFor(t *testing.T, p *Pool, targets string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		task := task(id)
		task.Needs = strings.Split(targets, " ")
		if err := p.Submit(task); err != nil {
			t.Fatalf("submit %s: %v", id, err)
		}
	}
}

// aggregates are n ids of different ones.
func aggregates(prefix string, n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s%d/1", prefix, i))
	}
	return ids
}

// wantSorted is want where what begins at the same time may do so in any order.
func (s *script) wantSorted(t *testing.T, runs ...string) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	slices.Sort(s.runs)
	s.mu.Unlock()
	s.want(t, slices.Sorted(slices.Values(runs))...)
}

// However long the runs of one target take, and however many wait for it, those
// of another have workers.
func TestATargetLeavesWorkersToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Hour
		p := setup(t, Config{Handler: s.handle, Share: 3})
		p.Start(t.Context())
		submitFor(t, p, "SLOW", aggregates("s", 10)...)
		submitFor(t, p, "SLOW OTHER", aggregates("both", 2)...)
		time.Sleep(time.Minute)
		submitFor(t, p, "QUICK", "q/1")
		s.wantSorted(t, "0s s0/1", "0s s1/1", "0s s2/1", "1m0s q/1")
	})
}

// Where there is no share, a target has all workers, and others wait for their turn.
func TestWithoutAShareOneTargetHasAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Hour
		p := setup(t, Config{Handler: s.handle})
		p.Start(t.Context())
		submitFor(t, p, "SLOW", aggregates("s", 8)...)
		time.Sleep(time.Minute)
		submitFor(t, p, "QUICK", "q/1")
		time.Sleep(3 * time.Hour)
		s.wantSorted(t, "0s s0/1", "0s s1/1", "0s s2/1", "0s s3/1", "1h0m0s s4/1", "1h0m0s s5/1", "1h0m0s s6/1", "1h0m0s s7/1", "2h0m0s q/1")
	})
}

// What needs two busy targets has its turn, though each of them has others at any time.
func TestWhatNeedsTwoBusyTargetsHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Second
		p := setup(t, Config{Handler: s.handle, Share: 3})
		p.Start(t.Context())
		submitFor(t, p, "A", aggregates("a", 100)...)
		submitFor(t, p, "B", aggregates("b", 100)...)
		submitFor(t, p, "A B", aggregates("both", 10)...)
		submitFor(t, p, "A", aggregates("late-a", 100)...)
		submitFor(t, p, "B", aggregates("late-b", 100)...)
		time.Sleep(time.Hour)
		s.mu.Lock()
		defer s.mu.Unlock()
		last := 0
		for i, run := range s.runs {
			if strings.Contains(run, " both") {
				last = i
			}
		}
		if last < 190 || last > 250 {
			t.Errorf("the last that needs both is run %d of %d, want it in its turn", last, len(s.runs))
		}
	})
}

// A run for two targets that ends makes room for one more of each.
func TestTheEndOfARunForTwoTargetsMakesRoomForBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Hour
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Hour, Workers: 4, Run: 1}, Share: 2})
		p.Start(t.Context())
		submitFor(t, p, "A B", "both/1")
		time.Sleep(time.Minute)
		submitFor(t, p, "A", aggregates("a", 2)...)
		submitFor(t, p, "B", aggregates("b", 2)...)
		time.Sleep(59*time.Minute + time.Second)
		s.wantSorted(t, "0s both/1", "1m0s a0/1", "1m0s b0/1", "1h0m0s a1/1", "1h0m0s b1/1")
	})
}

// No worker is idle while it may run something, whatever the tasks need, and all end.
func TestAShareLeavesNoWorkerIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Second
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Hour, Workers: 8, Run: 2}, Share: 6})
		p.Start(t.Context())
		for i, needs := range []string{"A", "A B", "C", "B", "A C"} {
			for j := range 20 {
				submitFor(t, p, needs, fmt.Sprintf("%d-%d/1", i, j), fmt.Sprintf("%d-%d/2", i, j), fmt.Sprintf("%d-%d/3", i, j))
			}
		}
		for range 200 {
			time.Sleep(time.Second)
			synctest.Wait()
			p.mu.Lock()
			if c := p.next(); c != nil && p.workers < p.cfg.Policy.Workers {
				t.Errorf("%d workers run, and %v is ready", p.workers, c.needs)
			}
			for need, n := range p.busy {
				if n > p.cfg.Share {
					t.Errorf("%s has %d workers, want %d at most", need, n, p.cfg.Share)
				}
			}
			p.mu.Unlock()
		}
		if stats := p.Stats(); stats.Delivered != 300 || len(p.busy) != 0 {
			t.Errorf("%d tasks are done, want 300; %v", stats.Delivered, p.busy)
		}
	})
}
