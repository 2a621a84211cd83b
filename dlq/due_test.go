package dlq

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// pauseOf is how long a target is parked from noon; 0: not at all.
func pauseOf(p *parking, target string) time.Duration {
	if _, at := p.free([]string{target}, noon); !at.IsZero() {
		return at.Sub(noon)
	}
	return 0
}

// tell tells that an item that misses these targets was blocked by them all.
func tell(p *parking, now time.Time, targets ...string) {
	p.tries(targets, now)
	p.told(targets, nil, targets, now)
}

func TestParkingPausesForLongerEachTime(t *testing.T) {
	p := newParking(time.Second, 30*time.Second)
	var got []time.Duration
	for range 100 {
		p.target("x").until = time.Time{} // its pause is over
		tell(p, noon, "x")
		got = append(got, pauseOf(p, "x"))
	}
	var want []time.Duration
	for _, seconds := range []int{1, 2, 4, 10, 20, 30, 30} {
		want = append(want, time.Duration(seconds)*time.Second)
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if got[99] != 30*time.Second {
		t.Errorf("pause %s after a hundred tries, want 30s", got[99])
	}
	p.told([]string{"x"}, []string{"x"}, nil, noon)
	tell(p, noon, "x")
	if got := pauseOf(p, "x"); got != time.Second {
		t.Errorf("pause %s after a round that was not blocked, want 1s", got)
	}
}

// TestTargetsArePaused, not what waits for them: many that were blocked together
// tell the same, and while one tries the others wait.
func TestTargetsArePaused(t *testing.T) {
	p := newParking(time.Second, 30*time.Second)
	for range 64 {
		tell(p, noon, "x")
	}
	if got := pauseOf(p, "x"); got != time.Second {
		t.Errorf("pause %s after 64 that were blocked together, want 1s", got)
	}
	free := func(want bool, now time.Time, targets ...string) {
		t.Helper()
		if ok, _ := p.free(targets, now); ok != want {
			t.Errorf("%v free: %t, want %t", targets, ok, want)
		}
	}
	later := noon.Add(time.Second)
	free(false, noon, "x")
	free(true, noon, "y")
	free(true, noon, "x", "y")
	free(true, noon)
	free(true, later, "x")
	p.tries([]string{"x", "y"}, later)
	free(false, later, "x")
	p.told([]string{"x", "y"}, []string{"y"}, nil, later) // nothing was heard of x
	free(true, later, "x")
	p.tries([]string{"x"}, later)
	p.told([]string{"x"}, []string{"x"}, nil, later)
	p.tries([]string{"x"}, later)
	free(true, later, "x")
}

func TestUnreachableTargetsAreAskedForSoon(t *testing.T) {
	p := newParking(time.Second, 30*time.Second)
	for range 20 {
		p.unreachable([]string{"x"}, noon)
	}
	if got := pauseOf(p, "x"); got != time.Second {
		t.Errorf("pause %s, want 1s however often", got)
	}
}

func TestBellEndsPauses(t *testing.T) {
	p := newParking(time.Second, 30*time.Second)
	for range 5 {
		p.target("x").until = time.Time{}
		tell(p, noon, "x")
	}
	p.rung(noon)
	if got := pauseOf(p, "x"); got != time.Second {
		t.Errorf("pause %s after a bell when it had just begun, want 1s", got)
	}
	p.target("x").until = noon.Add(time.Hour)
	p.rung(noon.Add(2 * time.Second))
	if ok, _ := p.free([]string{"x"}, noon.Add(2*time.Second)); !ok {
		t.Error("a bell did not end the pause")
	}
}

func TestPausesEndTogether(t *testing.T) {
	for _, c := range []struct {
		tries int
		want  []time.Duration // ends, of what is parked at each 1.1 s
	}{
		{1, []time.Duration{1, 3, 4, 5, 6, 7}},
		{5, []time.Duration{20, 20, 20, 20, 25, 25}},
	} {
		p := newParking(time.Second, 30*time.Second)
		var got []time.Duration
		for n := range c.want {
			now, pause := noon.Add(time.Duration(n)*1100*time.Millisecond), parked{}
			for range c.tries {
				p.blocked(&pause, now)
			}
			got = append(got, pause.until.Sub(noon)/time.Second)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("after %d tries, seconds (-want +got):\n%s", c.tries, diff)
		}
	}
}

func TestTurn(t *testing.T) {
	for _, c := range []struct {
		name  string
		item  Item
		older Item
		want  time.Duration // from now
	}{
		{"a moment after the older's time", Item{DeadAt: noon}, Item{NextReplayAt: noon.Add(10 * time.Second)}, 11 * time.Second},
		{"the older comes much later", Item{DeadAt: noon}, Item{NextReplayAt: noon.Add(30 * time.Minute)}, 30 * time.Second},
		{"the older is due now", Item{DeadAt: noon}, Item{NextReplayAt: noon}, time.Second},
		{"the older is late", Item{DeadAt: noon}, Item{NextReplayAt: noon.Add(-time.Minute)}, 15 * time.Second},
		{"the older is very late", Item{DeadAt: noon}, Item{NextReplayAt: noon.Add(-time.Hour)}, 30 * time.Second},
		{"the older waits for a person, lately", Item{DeadAt: noon}, Item{}, 5 * time.Second},
		{"the older waits for a person, for a while", Item{DeadAt: noon.Add(-time.Minute)}, Item{}, 15 * time.Second},
		{"the older waits for a person, for days", Item{DeadAt: noon.Add(-100 * time.Hour)}, Item{}, 30 * time.Second},
		{"somebody asked for the younger", Item{DeadAt: noon.Add(-100 * time.Hour), Replaying: &Request{}}, Item{}, 15 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := turn(noon, &c.item, &c.older).Sub(noon); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestLinesAreByAggregateAndVersion(t *testing.T) {
	b := newBacklog(new(contracts.Catalog), 1)
	for n, i := range []*Item{
		{ID: "1", Outbox: "o", AggregateID: "a", AggregateVersion: 3},
		{ID: "2", Outbox: "o", AggregateID: "b", AggregateVersion: 1},
		{ID: "3", Outbox: "p", AggregateID: "a", AggregateVersion: 1},
		{ID: "4", Outbox: "o", AggregateID: "a", AggregateVersion: 2},
		{ID: "5", Outbox: "o"},
		{ID: "6", Outbox: "o", Replaying: &Request{}},
		{ID: "7", Outbox: "o", AggregateID: "b", AggregateVersion: 2, Replaying: &Request{}},
	} {
		i.NextReplayAt = noon.Add(time.Duration(n) * time.Second)
		b.keep(i)
	}
	var got [][]string
	for _, l := range b.inTurn() {
		var ids []string
		for _, w := range l.items {
			ids = append(ids, w.item.ID)
		}
		got = append(got, ids)
	}
	want := [][]string{{"2", "7"}, {"6"}, {"3"}, {"4", "1"}, {"5"}} // first those that somebody asked for, and what stands before them
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestRounds(t *testing.T) {
	config := SiblingConfig{Poll: time.Minute, RetryMin: time.Second, RetryMax: 8 * time.Second}.withDefaults()
	t.Run("at each poll and whenever the bell rings", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			bell := make(chan struct{}, 1)
			var count atomic.Int64
			done := make(chan error)
			go func() {
				done <- rounds(ctx, bell, config, "work", func(context.Context) error { count.Add(1); return nil })
			}()
			expect := func(when string, want int64) {
				synctest.Wait()
				if got := count.Load(); got != want {
					t.Errorf("%s: %d rounds, want %d", when, got, want)
				}
			}
			expect("at first", 1)
			time.Sleep(time.Minute)
			expect("after a poll", 2)
			bell <- struct{}{}
			expect("after a bell", 3)
			cancel()
			if err := <-done; err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	})
	t.Run("with a backoff after failures, in which bells still count afterwards", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			bell := make(chan struct{}, 1)
			var count atomic.Int64
			done := make(chan error)
			go func() {
				done <- rounds(ctx, bell, config, "work", func(context.Context) error {
					if count.Add(1) < 5 {
						return errors.New("down")
					}
					return nil
				})
			}()
			time.Sleep(50 * time.Second) // 1+2+4+8 with jitter, and less than a poll after them
			bell <- struct{}{}
			synctest.Wait()
			if got := count.Load(); got != 6 {
				t.Errorf("%d rounds, want 5 and one for the bell", got)
			}
			cancel()
			<-done
		})
	})
	t.Run("until a panic", func(t *testing.T) {
		err := rounds(t.Context(), nil, config, "work", func(context.Context) error {
			return errors.Join(errors.New("down"), guarded(func() error { panic("a fault") }))
		})
		if !panicked(err) {
			t.Errorf("ended with %v, want the panic", err)
		}
	})
}

func TestLingeringOutlivesItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		out, stop := lingering(ctx, time.Second)
		defer stop()
		time.Sleep(time.Hour)
		cancel()
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		if out.Err() != nil {
			t.Error("it ended before its grace")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if out.Err() == nil {
			t.Error("it did not end with its grace")
		}
	})
}
