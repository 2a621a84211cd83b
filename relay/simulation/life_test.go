package simulation

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/ier"
	"outboxrelay/relay"
)

// life is one process of an instance, from its start to its end.
type life struct {
	world    *world
	instance int
	who      string
	began    time.Duration
	wire     *wire
	pending  int64 // what stood in the outboxes as it began
	relay    *relay.Relay
	stop     context.CancelFunc
	ended    chan struct{} // Run has returned
	err      error         // of Run; read after ended

	killOnce sync.Once
	killed   chan struct{}
	left     atomic.Int64 // steps until it dies; 0: no end is near
	stops    atomic.Bool  // it is told to stop
	stopped  time.Duration
}

// begin starts a process of an instance.
func (w *world) begin(instance, number int) (*life, error) {
	who := fmt.Sprintf("%c%d", 'A'+instance, number)
	l := &life{
		world: w, instance: instance, who: who, began: w.elapsed(), wire: newWire(w, who, instance),
		ended: make(chan struct{}), killed: make(chan struct{}),
	}
	l.wire.onStep = l.onStep
	w.db.mu.Lock()
	for _, o := range w.catalog.Outboxes {
		l.pending += int64(w.unsettledLocked(o.Name, ""))
	}
	w.db.mu.Unlock()
	store := queueStore{l.wire}
	queue, err := dlq.New(dlq.Config{Store: store, Catalog: w.catalog, Log: w.log(who), Random: w.chance.numbers(who + " replays")})
	if err != nil {
		return nil, err
	}
	targets := make(map[string]ier.Target)
	for name, p := range w.places {
		targets[name] = target{l.wire, p}
	}
	router, err := ier.New(ier.Config{Targets: targets, Catalog: w.catalog, Log: w.log(who)})
	if err != nil {
		return nil, err
	}
	config := relay.Config{
		Catalog: w.catalog, Store: relayStore{l.wire}, Router: router, Log: w.log(who), Queue: queue, Random: w.chance.numbers(who + " retries"),
		Tuning: relay.Tuning{PageSize: w.plan.Size.Page, Behind: w.plan.Size.Behind, CommitSize: 20},
	}
	if w.plan.Crowded {
		config.Tracer = crowdedTracer{number: w.chance.numbers(who + " gives way")}
	}
	if !w.plan.Alone {
		config.Leases = &relay.Leases{Store: store, Instance: who}
	}
	if l.relay, err = relay.New(config); err != nil {
		return nil, err
	}
	if err := joinSiblings(l.relay, queue, alerts{l.wire}, w.log(who)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	w.note(who, "start", "", "")
	w.enlist(l)
	w.processes.Go(func() {
		defer close(l.ended)
		l.err = l.relay.Run(ctx)
	})
	return l, nil
}

// onStep ends the life at the step at which its end is due.
func (l *life) onStep() {
	if l.left.Load() > 0 && l.left.Add(-1) == 0 {
		l.kill()
	}
}

// kill ends it as SIGKILL does: nothing that it does from now on has any effect.
func (l *life) kill() {
	l.killOnce.Do(func() {
		l.world.note(l.who, "killed", "", "")
		l.world.judge.killed(l.who)
		close(l.wire.cut)
		close(l.killed)
		l.stop()
	})
}

// quit tells it to stop, as SIGTERM does.
func (l *life) quit() {
	if !l.stops.Swap(true) {
		l.stopped = l.world.elapsed()
		l.world.note(l.who, "told to stop", "", "")
		l.stop()
	}
}

// over waits until the process is gone, and says whether it was killed.
func (l *life) over() (killed bool) {
	select {
	case <-l.ended:
	case <-l.killed:
	}
	select {
	case <-l.killed:
		return true
	default:
		return false
	}
}

// stopWithin is the time in which a process that is told to stop has to be gone:
// the stop budget, and a little.
const stopWithin = 9 * time.Second

// run has an instance live, over and over, until the world ends.
func (w *world) run(instance int) {
	for number := 1; ; number++ {
		l, err := w.begin(instance, number)
		if err != nil {
			w.judge.fault("start", "", "instance %c does not start: %v", 'A'+instance, err)
			return
		}
		killed := l.over()
		w.dismiss(l)
		if !killed {
			w.note(l.who, "ended", "", "")
			took := w.elapsed() - l.stopped
			switch {
			case l.err != nil:
				w.judge.fault("end", "", "%s ended by itself: %v", l.who, l.err)
			case !l.stops.Load():
				w.judge.fault("end", "", "%s ended without having been told to", l.who)
			case took > stopWithin:
				w.judge.fault("end", "", "%s took %v to stop", l.who, took)
			}
		}
		back := w.back(instance)
		select {
		case <-w.over:
			return
		default:
		}
		select {
		case <-time.After(back):
		case <-w.over:
			return
		}
	}
}
