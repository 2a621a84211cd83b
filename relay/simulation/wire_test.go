package simulation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"outboxrelay/dlq"
)

// wire is the way of one life of an instance, or of somebody else, to Firestore
// and to the targets. Once it is cut, nothing that goes over it has any effect,
// but for commits that were on their way.
type wire struct {
	world    *world
	who      string
	instance int // -1: of no instance
	cut      chan struct{}
	onStep   func() // may be nil

	mu      sync.Mutex
	streams map[*flow]int // open ones, by when they were opened
	opened  int
	reads   map[string]int64 // documents of outboxes that were read over it, by how
}

func newWire(w *world, who string, instance int) *wire {
	return &wire{world: w, who: who, instance: instance, cut: make(chan struct{}), streams: make(map[*flow]int), reads: make(map[string]int64)}
}

// billed counts documents that were read.
func (x *wire) billed(how string, n int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.reads[how] += n
}

func (x *wire) isCut() bool {
	select {
	case <-x.cut:
		return true
	default:
		return false
	}
}

// step counts a step of the world, at which the one at this end may die.
func (x *wire) step(kind string) {
	x.world.count(kind)
	x.world.steps.Add(1)
	if x.onStep != nil && !x.isCut() {
		x.onStep()
	}
}

// sleep spends time on the way. It fails when the caller gave up or is dead.
func (x *wire) sleep(ctx context.Context, d time.Duration) error {
	if x.isCut() {
		time.Sleep(time.Millisecond) // whoever tries on does so in time
		return failed("Unavailable")
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return gaveUp(ctx)
	case <-x.cut:
		time.Sleep(time.Millisecond)
		return failed("Unavailable")
	}
}

func gaveUp(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failed("DeadlineExceeded")
	}
	return failed("Canceled")
}

// slowness is what a call takes longer.
func (x *wire) slowness(d *draw) time.Duration {
	if x.world.hits(d, slow, x.instance) != nil {
		return d.between(100*time.Millisecond, 10*time.Second)
	}
	return 0
}

// read makes a call that reads: f looks at what stands at one moment. The time that
// it returns is the read's: not before that moment, and past once it is told.
func (x *wire) read(ctx context.Context, name string, f func() time.Time) (time.Time, error) {
	d := x.world.chance.of(x.identity() + name)
	began := x.world.elapsed()
	if !strings.HasPrefix(name, "page ") && !strings.HasPrefix(name, "count ") { // what is written waits for those
		defer x.world.judge.sent(x, began, false)()
		defer func() { x.world.judge.answered(x, began, x.world.elapsed(), nil) }()
	}
	x.step("read")
	if err := x.sleep(ctx, d.way()); err != nil {
		return time.Time{}, err
	}
	if x.world.hits(d, hangs, x.instance) != nil {
		defer x.world.judge.sent(x, began, true)()
		return time.Time{}, x.sleep(ctx, time.Hour)
	}
	if fault := x.world.hits(d, down, x.instance); fault != nil {
		return time.Time{}, failed(fault.Code)
	}
	before, after := x.slowness(d), d.way()
	if d.hit(0.5) {
		before, after = 0, after+before
	}
	if err := x.sleep(ctx, before); err != nil {
		return time.Time{}, err
	}
	at, late := f(), time.Duration(0)
	if d.hit(x.world.plan.LateReads) {
		x.world.count("fault: late read times")
		late = d.between(0, 900*time.Millisecond)
		after += late
	}
	if err := x.sleep(ctx, after); err != nil {
		return time.Time{}, err
	}
	x.step("answer")
	if x.isCut() {
		return time.Time{}, failed("Unavailable")
	}
	return at.Add(late).Truncate(time.Microsecond), nil
}

// identity is what the draws of a wire go by: not by its life, so that a run in
// which one dies earlier goes on alike.
func (x *wire) identity() string {
	if x.instance < 0 {
		return x.who + " "
	}
	return string(rune('A'+x.instance)) + " "
}

// outcome is what the server did with a commit.
type outcome struct {
	updated []time.Time
	err     error
}

// commit makes a call that writes. The request, once sent, goes its own way.
func (x *wire) commit(ctx context.Context, writes []dlq.Write) ([]time.Time, error) {
	w := x.world
	d := w.chance.of(x.identity() + "commit " + nameOf(writes))
	x.step("commit")
	if x.isCut() {
		return nil, x.sleep(ctx, 0)
	}
	began := w.elapsed()
	answer := make(chan outcome, 1)
	there, back := d.way()+x.slowness(d), d.way()
	survives := d.hit(0.5) // the end of who sent it
	if w.hits(d, lateApplied, x.instance) != nil {
		there = max(there, d.between(time.Second, 10*time.Second))
		survives = true
	}
	never := w.hits(d, hangs, x.instance) != nil
	defer w.judge.sent(x, began, never)()
	dropped := never && d.hit(0.5)
	fails, aborted, lost := w.hits(d, down, x.instance), w.hits(d, aborts, x.instance), w.hits(d, lostAnswers, x.instance)
	equal := d.hit(w.plan.Equal)
	again := time.Duration(0)
	if w.hits(d, sentTwice, x.instance) != nil {
		again = d.between(time.Millisecond, time.Second)
	}
	w.flights.Go(func() {
		time.Sleep(there)
		if dropped || (x.isCut() || ctx.Err() != nil) && !survives {
			return
		}
		switch {
		case fails != nil:
			answer <- outcome{err: failed(fails.Code)}
			return
		case aborted != nil:
			answer <- outcome{err: failed("Aborted")}
			return
		}
		updated, err := w.db.commit(x.who, writes, equal)
		if again > 0 && err == nil {
			time.Sleep(again)
			updated, err = w.db.commit(x.who, writes, false)
		}
		if lost != nil {
			err = failed(lost.Code)
		}
		if !never {
			answer <- outcome{updated, err}
		}
	})
	var out outcome
	select {
	case out = <-answer:
		if err := x.sleep(ctx, back); err != nil {
			out = outcome{err: err}
		}
	case <-ctx.Done():
		out = outcome{err: gaveUp(ctx)}
	case <-x.cut:
		out = outcome{err: x.sleep(ctx, 0)}
	}
	if out.err == nil || !refused(out.err) {
		w.judge.answered(x, began, w.elapsed(), out.err)
	}
	if again > 0 || lost != nil {
		w.judge.answered(x, began, w.elapsed(), failed("Unavailable"))
	}
	x.step("answer")
	if x.isCut() {
		return nil, failed("Unavailable")
	}
	if out.err == nil || refused(out.err) {
		w.judge.savedLate(x, writes, began)
	}
	return out.updated, out.err
}

func refused(err error) bool {
	e, ok := errors.AsType[*callError](err)
	return ok && e.Refused()
}

// nameOf names a commit by what it is about.
func nameOf(writes []dlq.Write) string {
	if len(writes) == 0 {
		return ""
	}
	status, _ := writes[0].Fields["status"].(string)
	return writes[0].Collection + "/" + writes[0].ID + " " + status
}

// openStreams lists the streams that are open, in the order in which they were
// opened.
func (x *wire) openStreams() []*flow {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]*flow, 0, len(x.streams))
	for s := range x.streams {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *flow) int { return cmp.Compare(x.streams[a], x.streams[b]) })
	return out
}
