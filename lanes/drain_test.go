package lanes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestPauseStartsNoRunAndResumeStartsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Second
		s.verdict = failFirst(2*time.Second, "", "b/1")
		p := setup(t, Config{Handler: s.handle})
		p.Start(t.Context())
		submit(t, p, "a/1", "b/1")
		synctest.Wait()
		p.Pause()
		submit(t, p, "a/2", "c/1")
		time.Sleep(10 * time.Second)
		s.mu.Lock()
		began := len(s.runs)
		s.mu.Unlock()
		if got := p.Stats(); began != 2 || !got.Paused || !p.Paused() || got.Delivered != 1 || got.Queued != 3 {
			t.Errorf("paused: %d runs began, stats %+v; want 2 runs, 1 delivered, 3 queued", began, got)
		}
		p.Resume()
		time.Sleep(500 * time.Millisecond)
		if got := p.Stats(); got.Paused || p.Paused() || got.Running != 3 {
			t.Errorf("resumed: stats %+v, want 3 running at once", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := p.Stats(); got.Delivered != 4 {
			t.Errorf("delivered %d, want 4", got.Delivered)
		}
	})
}

func TestDrainFinishesRunsAndReturnsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = 3 * time.Second
		s.verdict = failFirst(time.Hour, "", "w/1", "b/2")
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 2, Run: 2}})
		p.Start(t.Context())
		submit(t, p, "w/1")
		time.Sleep(10 * time.Second)
		submit(t, p, "a/1")
		synctest.Wait() // of two workers that begin at once, either is noted first
		submit(t, p, "b/2")
		synctest.Wait()
		submit(t, p, "a/2", "a/3", "b/3", "w/2", "c/1")
		time.Sleep(time.Second)
		start := time.Now()
		left := p.Drain(context.Background())
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("drain took %v, want the 2s that the runs still had", got)
		}
		want := []string{"a/2", "a/3", "b/2", "b/3", "c/1", "w/1", "w/2"}
		if diff := cmp.Diff(want, idsOf(left)); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
		if err := p.Submit(task("z/1")); !errors.Is(err, ErrDraining) {
			t.Errorf("submit after drain: got %v, want ErrDraining", err)
		}
		if ok, err := p.Offer(task("z/1"), 9); ok || !errors.Is(err, ErrDraining) {
			t.Errorf("offer after drain: got %v, %v, want false, ErrDraining", ok, err)
		}
		if again := p.Drain(context.Background()); again != nil {
			t.Errorf("second drain returned %q, want nothing", idsOf(again))
		}
		time.Sleep(2 * time.Hour)
		s.want(t, "0s w/1", "10s a/1", "10s b/2")
	})
}

func TestSubmitFailsOnceDrainBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Second
		p := setup(t, Config{Handler: s.handle})
		p.Start(t.Context())
		submit(t, p, "a/1")
		go p.Drain(context.Background())
		time.Sleep(500 * time.Millisecond)
		if err := p.Submit(task("b/1")); !errors.Is(err, ErrDraining) {
			t.Errorf("submit during drain: got %v, want ErrDraining", err)
		}
	})
}

func TestDrainDeadlineReturnsRunningTasksAndCancelsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 2)
		p := setup(t, Config{Handler: func(ctx context.Context, run []*Task) []Verdict {
			<-ctx.Done()
			time.Sleep(time.Second) // a handler that takes its time to notice
			ended <- context.Cause(ctx)
			return []Verdict{{Action: Done}, {Action: Again}}
		}})
		submit(t, p, "a/1", "a/2", "b/1", "b/2")
		p.Start(t.Context())
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		left := p.Drain(ctx)
		if got := time.Since(start); got != 5*time.Second {
			t.Errorf("drain took %v, want the 5s it was given", got)
		}
		if diff := cmp.Diff([]string{"a/1", "a/2", "b/1", "b/2"}, idsOf(left)); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
		next := setup(t, Config{Handler: newScript().handle}) // has them while they still run in the other
		for _, l := range left {
			if err := next.Submit(l); err != nil {
				t.Errorf("submit %s: %v", idOf(l), err)
			}
		}
		for range 2 {
			if err := <-ended; !errors.Is(err, ErrDraining) {
				t.Errorf("handler's context ended with %v, want ErrDraining", err)
			}
		}
		synctest.Wait()
		if got := p.Stats(); got.Delivered != 2 || got.Running+got.Queued+got.Waiting != 0 {
			t.Errorf("stats %+v, want 2 delivered and nothing in the lane", got)
		}
		for _, l := range left {
			if err := next.Submit(l); !errors.Is(err, ErrInLane) {
				t.Errorf("%s is no longer known to the lane that has it: %v", idOf(l), err)
			}
		}
	})
}

func TestDrainedTasksMayGoToAnotherPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		first, second := setup(t, Config{Handler: s.handle}), setup(t, Config{Handler: s.handle})
		submit(t, first, "a/1", "a/2")
		for _, left := range first.Drain(t.Context()) {
			if err := second.Submit(left); err != nil {
				t.Errorf("submit %s: %v", idOf(left), err)
			}
		}
		second.Start(t.Context())
		first.Start(t.Context())
		s.want(t, "0s a/1 a/2")
	})
}

func TestEndOfTheContextClosesThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = 2 * time.Second
		s.verdict = failFirst(time.Minute, "", "a/1")
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 1, Run: 1}})
		ctx, cancel := context.WithCancel(t.Context())
		p.Start(ctx)
		submit(t, p, "a/1", "b/1")
		time.Sleep(time.Second)
		cancel()
		synctest.Wait()
		if err := p.Submit(task("c/1")); !errors.Is(err, ErrDraining) {
			t.Errorf("submit: got %v, want ErrDraining", err)
		}
		time.Sleep(time.Hour)
		s.want(t, "0s a/1")
		if diff := cmp.Diff([]string{"a/1", "b/1"}, idsOf(p.Drain(t.Context()))); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	})
}

func TestSecondStartDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		p := setup(t, Config{Handler: s.handle})
		p.Start(t.Context())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		p.Start(ended)
		synctest.Wait()
		submit(t, p, "a/1")
		s.want(t, "0s a/1")
	})
}

func TestIdleIsNotToldOnceThePoolCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var idle idles
		s := newScript()
		s.takes = 2 * time.Second
		s.verdict = failFirst(time.Second, "", "a/1")
		p := setup(t, Config{Handler: s.handle, Idle: idle.add})
		p.Start(t.Context())
		submit(t, p, "a/1")
		time.Sleep(2500 * time.Millisecond)
		offer(t, p, "a/2", 0)
		time.Sleep(time.Second) // a/1 runs again
		if left := p.Drain(t.Context()); left != nil {
			t.Errorf("left %q, want nothing", idsOf(left))
		}
		idle.want(t)
	})
}

func TestTaskCannotBeSubmittedTwiceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		p := setup(t, Config{Handler: s.handle})
		a := task("a/1")
		if err := p.Submit(a); err != nil {
			t.Fatal(err)
		}
		if err := p.Submit(a); !errors.Is(err, ErrInLane) {
			t.Errorf("second submit: got %v, want ErrInLane", err)
		}
		p.Start(t.Context())
		synctest.Wait()
		if err := p.Submit(a); err != nil {
			t.Errorf("submit after it left: %v", err)
		}
		s.want(t, "0s a/1", "0s a/1")
	})
}

func TestConfigIsChecked(t *testing.T) {
	handler := func(context.Context, []*Task) []Verdict { return nil }
	tests := map[string]struct {
		cfg  Config
		want string
	}{
		"all of it": {
			Config{},
			"configure lane : unknown lane \"\"\nSLA is 0s, want more than 0\nworkers are 0, want 1 or more\nrun is 0, want 1 or more\nhandler is missing",
		},
		"one thing": {
			Config{Lane: contracts.CriticalLane, Handler: handler, Policy: contracts.LanePolicy{SLA: 1, Workers: 1}},
			"configure lane CRITICAL_LANE: run is 0, want 1 or more",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(tt.cfg)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
