package lanes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// A run for several targets that ends makes room for one more of each.
func TestTheEndOfARunForSeveralTargetsMakesRoomForEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Hour
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Hour, Workers: 8, Run: 1}, Share: 2})
		p.Start(t.Context())
		submitFor(t, p, "A B C", "all/1")
		time.Sleep(time.Minute)
		for _, target := range []string{"A", "B", "C"} {
			submitFor(t, p, target, aggregates(strings.ToLower(target), 2)...)
		}
		time.Sleep(59*time.Minute + time.Second)
		s.wantSorted(t, "0s all/1", "1m0s a0/1", "1m0s b0/1", "1m0s c0/1", "1h0m0s a1/1", "1h0m0s b1/1", "1h0m0s c1/1")
	})
}

// A run counts for what its later tasks need as well, and ends before a task for a target
// that has its share. Whatever has room goes on in one run.
func TestARunEndsBeforeATargetThatHasItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Hour
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Hour, Workers: 4, Run: 3}, Share: 3})
		for _, a := range aggregates("x", 5) {
			x := strings.TrimSuffix(a, "1")
			submitFor(t, p, "QUICK", x+"1")
			submitFor(t, p, "SLOW", x+"2")
			submitFor(t, p, "QUICK", x+"3")
		}
		submitFor(t, p, "OTHER", "o/1")
		p.Start(t.Context())
		time.Sleep(time.Minute)
		s.wantSorted(t, "0s o/1", "0s x0/1 x0/2 x0/3", "0s x1/1 x1/2 x1/3", "0s x2/1 x2/2 x2/3")
		if busy := p.Busy(); busy["SLOW"] != 3 || busy["QUICK"] != 3 {
			t.Errorf("workers by target are %v, want 3 of each of both", busy)
		}
	})
}

// The worker that is left runs what does not need the slow target, up to where it is needed.
func TestAMixedAggregateGoesAsFarAsThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var quick []string
		slow := make(chan struct{})
		var p *Pool
		handle := func(_ context.Context, run []*Task) []Verdict {
			p.WaitsFor(run[0].Aggregate, []string{"SLOW"}) // the quick target has answered
			for _, task := range run {
				if slices.Contains(task.Needs, "SLOW") {
					<-slow
					continue
				}
				mu.Lock()
				quick = append(quick, task.Aggregate)
				mu.Unlock()
			}
			return make([]Verdict, len(run))
		}
		p = setup(t, Config{Handler: handle, Policy: contracts.LanePolicy{SLA: time.Hour, Workers: 4, Run: 2}, Share: 3})
		for _, a := range aggregates("x", 20) {
			submitFor(t, p, "QUICK", a)
			submitFor(t, p, "SLOW", strings.TrimSuffix(a, "1")+"2")
		}
		p.Start(t.Context())
		time.Sleep(time.Minute)
		submitFor(t, p, "QUICK", "q/1")
		synctest.Wait()
		mu.Lock()
		if got, want := len(quick), 21; got != want {
			t.Errorf("%d tasks of the quick target have run, want %d: %v", got, want, quick)
		}
		mu.Unlock()
		close(slow)
		synctest.Wait()
		if stats := p.Stats(); stats.Delivered != 41 || len(p.Busy()) != 0 {
			t.Errorf("%d tasks are done, want 41; %v", stats.Delivered, p.Busy())
		}
	})
}

// A run that waits for one of its needs alone leaves its worker to the others' share.
func TestARunCountsForWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Hour
		p := setup(t, Config{Handler: s.handle, Share: 2})
		p.Start(t.Context())
		submitFor(t, p, "A B", "x/1", "y/1")
		time.Sleep(time.Minute)
		submitFor(t, p, "A", "a/1")
		submitFor(t, p, "B", "b/1")
		submitFor(t, p, "C", "c/1")
		s.wantSorted(t, "0s x/1", "0s y/1", "1m0s c/1")
		time.Sleep(time.Minute)
		p.WaitsFor("unknown", nil)
		p.WaitsFor("a", nil)                // it does not run
		p.WaitsFor("x", []string{"B", "D"}) // it never needed D
		s.wantSorted(t, "0s x/1", "0s y/1", "1m0s c/1", "2m0s a/1")
		if got, want := fmt.Sprint(p.Busy()), "map[A:2 B:2 C:1]"; got != want {
			t.Errorf("workers by target are %s, want %s", got, want)
		}
		time.Sleep(time.Hour)
		s.wantSorted(t, "0s x/1", "0s y/1", "1m0s c/1", "2m0s a/1", "1h0m0s b/1")
		time.Sleep(time.Hour)
		synctest.Wait()
		if busy := p.Busy(); len(busy) > 0 {
			t.Errorf("workers by target are %v at rest, want none", busy)
		}
	})
}

// An aggregate whose head changes while it is ready needs what its new head does.
func TestAnotherHeadIsOfAnotherClass(t *testing.T) {
	for _, c := range []struct {
		name string
		head func(*testing.T, *Pool)
		want string
	}{
		{"withdrawn", func(t *testing.T, p *Pool) {
			submitFor(t, p, "SLOW", "x/2")
			submitFor(t, p, "QUICK", "x/3")
			p.Withdraw("x", func(t *Task) bool { return t.Version == 2 })
		}, "1m0s x/3"},
		{"an older one came", func(t *testing.T, p *Pool) {
			submitFor(t, p, "SLOW", "x/2")
			submitFor(t, p, "QUICK", "x/1")
		}, "1m0s x/1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.takes = time.Hour
				p := setup(t, Config{Handler: s.handle, Share: 3})
				p.Start(t.Context())
				submitFor(t, p, "SLOW", aggregates("s", 3)...)
				time.Sleep(time.Minute)
				c.head(t, p)
				s.wantSorted(t, "0s s0/1", "0s s1/1", "0s s2/1", c.want)
			})
		})
	}
}

// What gets another class keeps its turn there.
func TestAnotherClassKeepsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Hour
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Hour, Workers: 1, Run: 1}})
		submitFor(t, p, "B", "b0/1", "b1/1")
		submitFor(t, p, "A", "x/2")
		submitFor(t, p, "B", "b2/1", "b3/1")
		submitFor(t, p, "B", "x/1")
		p.Start(t.Context())
		time.Sleep(5 * time.Hour)
		s.want(t, "0s b0/1", "1h0m0s b1/1", "2h0m0s x/1", "3h0m0s b2/1", "4h0m0s b3/1", "5h0m0s x/2")
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
				submitFor(t, p, needs, fmt.Sprintf("%d-%d/1", i, j), fmt.Sprintf("%d-%d/2", i, j))
				submitFor(t, p, "B", fmt.Sprintf("%d-%d/3", i, j))
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
