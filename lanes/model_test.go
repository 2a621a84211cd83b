package lanes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

// TestPoolDoesAsTheReference drives a pool and the reference with the same
// random calls. After each, both must run the same tasks with the same clocks,
// count the same and have told the same of idle aggregates; at the end, both
// must give back the same. No time passes but what the test lets pass.
func TestPoolDoesAsTheReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers, run := rapid.IntRange(1, 3).Draw(rt, "workers"), rapid.IntRange(1, 3).Draw(rt, "run")
		var failure any
		synctest.Test(t, func(t *testing.T) {
			d := newDuel(t, rt, workers, run)
			defer d.end()
			defer func() { failure = recover() }() // rapid ends a check by a panic, and wants it on its own goroutine
			for range rapid.IntRange(1, 80).Draw(rt, "steps") {
				d.step()
				d.compare()
			}
			d.drain()
		})
		if failure != nil {
			panic(failure)
		}
	})
}

// duel is a pool and its reference. The pool's runs last until the test gives
// their verdicts.
type duel struct {
	rt   *rapid.T
	pool *Pool
	ref  *reference
	over chan struct{} // closed: runs end by themselves
	made int           // tasks so far

	mu   sync.Mutex
	held map[string]heldRun // by aggregate
	idle []string
	shed []string

	short bool
}

type heldRun struct {
	run      []*Task
	verdicts chan []Verdict
}

var (
	duelKeys    = rapid.SampledFrom([]string{"a", "b", "c", "d"})
	duelActions = rapid.SampledFrom([]Action{Done, Done, Drop, Again, Retry, Retry})
	duelLabels  = rapid.SampledFrom([]string{"", "X", "Y"})
	duelSeconds = rapid.IntRange(0, 5)
)

func newDuel(t *testing.T, rt *rapid.T, workers, run int) *duel {
	d := &duel{rt: rt, over: make(chan struct{}), held: make(map[string]heldRun)}
	d.ref = &reference{workers: workers, run: run, now: time.Now(), aggregates: make(map[string]*refAggregate)}
	d.pool = setup(t, Config{
		Policy:  contracts.LanePolicy{SLA: time.Hour, Workers: workers, Run: run},
		Handler: d.handle,
		Short: func(*Task) bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.short
		},
		Shed: func(tasks []*Task) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.shed = append(d.shed, show(tasks)...)
		},
		Idle: func(aggregate string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.idle = append(d.idle, aggregate)
		},
	})
	d.pool.Start(context.Background())
	return d
}

func (d *duel) end() {
	close(d.over)
	d.pool.Drain(context.Background())
}

func (d *duel) handle(_ context.Context, run []*Task) []Verdict {
	h := heldRun{run, make(chan []Verdict)}
	key := run[0].Aggregate
	d.mu.Lock()
	if _, twice := d.held[key]; twice {
		d.held["two runs at a time of "+key] = h
	}
	d.held[key] = h
	d.mu.Unlock()
	select {
	case v := <-h.verdicts:
		return v
	case <-d.over:
		return make([]Verdict, len(run))
	}
}

// step makes one random call of both.
func (d *duel) step() {
	switch rapid.SampledFrom([]string{
		"submit", "submit", "submit", "offer", "offer", "finish", "finish", "finish", "advance", "advance", "wake", "pause", "withdraw", "short",
	}).Draw(d.rt, "call") {
	case "submit":
		t, ref := d.task()
		if err := d.pool.Submit(t); err != nil {
			d.rt.Fatalf("submit: %v", err)
		}
		d.ref.submit(t.Aggregate, ref)
	case "offer":
		t, ref := d.task()
		behind := rapid.IntRange(0, 2).Draw(d.rt, "behind")
		got, err := d.pool.Offer(t, behind)
		if want := d.ref.offer(t.Aggregate, ref, behind); err != nil || got != want {
			d.rt.Fatalf("offer %s: got %v, %v, want %v", idOf(t), got, err, want)
		}
	case "finish":
		if keys := sorted(d.held); len(keys) > 0 {
			d.finish(rapid.SampledFrom(keys).Draw(d.rt, "finished"))
		}
	case "advance":
		by := time.Duration(duelSeconds.Draw(d.rt, "seconds")) * time.Second
		time.Sleep(by)
		d.ref.advance(by)
	case "wake":
		on := rapid.SampledFrom([]string{"X", "Y"}).Draw(d.rt, "label")
		d.pool.Wake(on)
		d.ref.wake(on)
	case "withdraw":
		key, least := duelKeys.Draw(d.rt, "aggregate"), rapid.Int64Range(0, 6).Draw(d.rt, "least version")
		got := show(d.pool.Withdraw(key, func(t *Task) bool { return t.Version >= least }))
		if diff := cmp.Diff(d.ref.withdraw(key, least), got); diff != "" {
			d.rt.Fatalf("withdraw (-want +got):\n%s", diff)
		}
	case "short":
		d.mu.Lock()
		d.short = !d.short
		d.mu.Unlock()
		d.ref.short = !d.ref.short
	case "pause":
		if d.ref.paused = !d.ref.paused; d.ref.paused {
			d.pool.Pause()
		} else {
			d.pool.Resume()
			d.ref.dispatch()
		}
	}
}

// task makes a random task for both.
func (d *duel) task() (*Task, *refTask) {
	d.made++
	t := &Task{
		Aggregate: duelKeys.Draw(d.rt, "aggregate"),
		Version:   rapid.Int64Range(0, 6).Draw(d.rt, "version"),
		Tie:       rapid.SampledFrom([]string{"", "x", "y"}).Draw(d.rt, "tie"),
		Appended:  time.Now().Add(-time.Duration(duelSeconds.Draw(d.rt, "age")) * time.Second),
	}
	id := fmt.Sprintf("#%d %s/%d/%s", d.made, t.Aggregate, t.Version, t.Tie)
	t.Work = id
	return t, &refTask{id: id, version: t.Version, tie: t.Tie, appended: t.Appended}
}

// finish ends one run with random verdicts.
func (d *duel) finish(key string) {
	d.mu.Lock()
	h := d.held[key]
	delete(d.held, key)
	d.mu.Unlock()
	verdicts := make([]Verdict, len(h.run))
	for i := range verdicts {
		v := Verdict{Action: duelActions.Draw(d.rt, "action")}
		if v.Action == Retry {
			v.At = time.Now().Add(time.Duration(duelSeconds.Draw(d.rt, "wait")) * time.Second)
			v.On = duelLabels.Draw(d.rt, "on")
		}
		verdicts[i] = v
	}
	h.verdicts <- verdicts
	synctest.Wait()
	d.ref.finish(key, verdicts)
}

// compare looks at both once nothing moves.
func (d *duel) compare() {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	runs := make(map[string][]string)
	for key, h := range d.held {
		runs[key] = show(h.run)
	}
	if diff := cmp.Diff(d.ref.runs(), runs); diff != "" {
		d.rt.Fatalf("runs (-want +got):\n%s", diff)
	}
	got := d.pool.Stats()
	got.Oldest = time.Time{}
	if diff := cmp.Diff(d.ref.stats(), got); diff != "" {
		d.rt.Fatalf("stats (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(d.ref.shed, d.shed); diff != "" {
		d.rt.Fatalf("shed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(d.ref.idle, d.idle); diff != "" {
		d.rt.Fatalf("idle (-want +got):\n%s", diff)
	}
}

// drain drains the pool, and either ends the runs that drain waits for or has
// it give up on them.
func (d *duel) drain() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	left := make(chan []*Task, 1)
	go func() { left <- d.pool.Drain(ctx) }()
	synctest.Wait()
	d.ref.closed = true
	patient := rapid.Bool().Draw(d.rt, "drain waits")
	if patient {
		for _, key := range sorted(d.held) {
			d.finish(key)
		}
	} else {
		cancel()
	}
	got, want := show(<-left), d.ref.drain(!patient)
	if !slices.Equal(got, want) {
		d.rt.Fatalf("drain (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func show(tasks []*Task) []string {
	var out []string
	for _, t := range tasks {
		out = append(out, fmt.Sprintf("%s waited %v, backed off %v", idOf(t), t.Waited(), t.BackedOff()))
	}
	return out
}
