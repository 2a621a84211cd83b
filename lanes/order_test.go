package lanes

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
)

func TestOrderWithinAnAggregate(t *testing.T) {
	tests := map[string]struct {
		submit []string
		want   []string
	}{
		"as submitted":             {[]string{"a/1", "a/2", "a/3"}, []string{"0s a/1 a/2", "0s a/3"}},
		"reversed":                 {[]string{"a/3", "a/2", "a/1"}, []string{"0s a/1 a/2", "0s a/3"}},
		"equal versions by tie":    {[]string{"a/1/y", "a/1/x", "a/0/z"}, []string{"0s a/0/z a/1/x", "0s a/1/y"}},
		"repeats keep their place": {[]string{"a/2", "a/1", "a/2"}, []string{"0s a/1 a/2", "0s a/2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				p := setup(t, Config{Handler: s.handle})
				submit(t, p, tt.submit...)
				p.Start(t.Context())
				s.want(t, tt.want...)
			})
		})
	}
}

func TestEqualPositionsRunInOrderOfSubmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		p := setup(t, Config{Handler: s.handle})
		for _, id := range []string{"first", "second", "third", "fourth", "fifth"} {
			if err := p.Submit(&Task{Aggregate: "a", Version: 7, Work: id}); err != nil {
				t.Fatal(err)
			}
		}
		p.Start(t.Context())
		s.want(t, "0s first second", "0s third fourth", "0s fifth")
	})
}

func TestOlderTaskSlotsInButNeverInterruptsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Second
		p := setup(t, Config{Handler: s.handle})
		p.Start(t.Context())
		submit(t, p, "a/5")
		synctest.Wait()
		submit(t, p, "a/7", "a/6", "a/4")
		time.Sleep(3 * time.Second)
		s.want(t, "0s a/5", "1s a/4 a/6", "2s a/7")
	})
}

func TestOneRunOfAnAggregateAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		p := setup(t, Config{Handler: func(_ context.Context, run []*Task) []Verdict {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			now.Add(-1)
			return make([]Verdict, len(run))
		}})
		p.Start(t.Context())
		for v := range 20 {
			if err := p.Submit(&Task{Aggregate: "a", Version: int64(v)}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := p.Stats(); got.Delivered != 20 {
			t.Errorf("delivered %d, want 20", got.Delivered)
		}
		if most.Load() != 1 {
			t.Errorf("%d runs at the same time, want 1", most.Load())
		}
	})
}

func TestWorkersAreBoundedAndAllUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Second
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 2, Run: 1}})
		submit(t, p, "a/1", "b/1", "c/1", "d/1", "e/1")
		p.Start(t.Context())
		time.Sleep(500 * time.Millisecond)
		if got := p.Stats(); got.Running != 2 || got.Queued != 3 {
			t.Errorf("got %d running and %d queued, want 2 and 3", got.Running, got.Queued)
		}
		// The two workers finish at the same instant, so only the total time tells.
		time.Sleep(2600 * time.Millisecond)
		synctest.Wait()
		if got := p.Stats(); got.Delivered != 5 {
			t.Errorf("delivered %d after 3 rounds of 2 workers, want 5", got.Delivered)
		}
	})
}

func TestAggregatesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Second
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 1, Run: 2}})
		submit(t, p, "hot/1", "hot/2", "hot/3", "hot/4", "hot/5", "b/1", "c/1")
		p.Start(t.Context())
		time.Sleep(time.Minute)
		s.want(t, "0s hot/1 hot/2", "1s b/1", "2s c/1", "3s hot/3 hot/4", "4s hot/5")
	})
}

func TestFailingAggregateHoldsBackOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.verdict = failFirst(10*time.Second, "", "a/1")
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 1, Run: 1}})
		submit(t, p, "a/1", "a/2", "b/1", "b/2")
		p.Start(t.Context())
		time.Sleep(5 * time.Second)
		submit(t, p, "a/3", "b/3")
		time.Sleep(time.Minute)
		s.want(t, "0s a/1", "0s b/1", "0s b/2", "5s b/3", "10s a/1", "10s a/2", "10s a/3")
	})
}

func TestAFloodInOneLaneLeavesTheOtherAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flood, calm := newScript(), newScript()
		flood.takes = time.Hour
		background := setup(t, Config{Lane: contracts.BackgroundLane, Handler: flood.handle})
		critical := setup(t, Config{Lane: contracts.CriticalLane, Handler: calm.handle})
		background.Start(t.Context())
		critical.Start(t.Context())
		for i := range 1000 {
			if err := background.Submit(&Task{Aggregate: string(rune('a' + i)), Work: "flood"}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		urgent := task("a/1")
		if err := critical.Submit(urgent); err != nil {
			t.Fatal(err)
		}
		calm.want(t, "1s a/1")
		if urgent.Waited() != 0 {
			t.Errorf("waited %v, want 0", urgent.Waited())
		}
	})
}

func TestAnEmptyPoolHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.verdict = failFirst(time.Second, "target", "a/1", "b/1")
		p := setup(t, Config{Handler: s.handle})
		p.Start(t.Context())
		submit(t, p, "a/1", "a/2", "b/1", "c/1")
		time.Sleep(time.Minute)
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.aggregates) != 0 || len(p.waiting) != 0 || p.ready != 0 || p.classes[0].ready != (readyList{}) || p.workers != 0 {
			t.Errorf("got %d aggregates, %d waiting, %d ready, %d workers, want none",
				len(p.aggregates), len(p.waiting), p.ready, p.workers)
		}
	})
}
