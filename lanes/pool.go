package lanes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

var (
	// ErrDraining is returned for a task that comes after Drain began, or after
	// the pool's context ended.
	ErrDraining = errors.New("lane is draining")
	// ErrInLane is returned for a task that is in the lane already.
	ErrInLane = errors.New("task is in the lane already")
)

// Pool is one lane: a bounded number of workers that run tasks in order of
// their aggregates. Its methods may be called from any goroutine, handlers and
// Idle included, except that a handler must not call Drain.
type Pool struct {
	cfg  Config
	log  *zap.Logger
	wait prometheus.Observer // nil: not measured

	mu         sync.Mutex
	aggregates map[string]*aggregate // all that have tasks
	classes    []*class              // of their heads' needs, ever seen
	ready      int                   // aggregates in the classes' lists
	readied    uint64                // how often one came into a list so far
	busy       map[string]int        // workers by need
	waiting    waitHeap
	timer      *time.Timer // for the first of waiting; nil until something waited
	timerAt    time.Time   // what timer is set to; zero: stopped
	turns      uint64      // aggregates that entered waiting so far
	seq        uint64      // tasks submitted so far

	ctx     context.Context // handed to handlers; nil until Start
	cancel  context.CancelCauseFunc
	unwatch func() bool // forgets the watch on Start's context
	workers int         // goroutines, at most Policy.Workers
	paused  bool
	closed  bool          // hands out nothing more, takes nothing more
	drained bool          // the tasks were given back
	quiet   chan struct{} // closed with the last worker's end; nil until Drain has to wait

	delivered, breaches, faults int64
}

// New makes a pool that takes tasks at once and runs them after Start.
func New(cfg Config) (*Pool, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure lane %s: %w", cfg.Lane, err)
	}
	log := cfg.Log
	if log == nil {
		log = zap.NewNop()
	}
	p := &Pool{
		cfg:        cfg,
		log:        log.With(zap.String("lane", string(cfg.Lane))),
		aggregates: make(map[string]*aggregate),
		busy:       make(map[string]int),
	}
	if cfg.Metrics != nil {
		p.wait = cfg.Metrics.attach(p)
	}
	return p, nil
}

// Start lets workers run, until Drain or the end of ctx. ctx is handed to the
// handlers, so it should outlive whatever submits. A second Start does nothing.
func (p *Pool) Start(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx != nil || p.closed {
		return
	}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.unwatch = context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.close()
	})
	p.staff(p.ready)
}

// Submit puts t into the lane. It never blocks. A task goes ahead of the queued
// ones of its aggregate that have a higher version, but never interrupts a run;
// one that is lower than a waiting head becomes the head.
func (p *Pool) Submit(t *Task) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.admissible(t); err != nil {
		return err
	}
	p.add(t)
	return nil
}

// Offer is Submit for a task that can be fetched again later. It refuses, with
// false, when the aggregate's head waits for its retry and behind tasks or more
// queue behind it already; of what queues when the head begins to wait, Config.Shed
// is handed some if room is short. From then on it refuses whatever comes after the
// refused task in the aggregate's order, until the aggregate has no tasks left
// and Config.Idle is told. A task older than the waiting head is never refused
// for it.
func (p *Pool) Offer(t *Task, behind int) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.admissible(t); err != nil {
		return false, err
	}
	if a := p.aggregates[t.Aggregate]; a != nil && a.refuses(t, behind) {
		a.refuse(t)
		return false, nil
	}
	p.add(t)
	t.stay.offered, t.stay.behind = true, behind
	return true, nil
}

// TellIdle has Config.Idle told once the aggregate of t, which an Offer refused,
// has no tasks left; until then what comes after t is refused as well. It reports
// false when it has none now: nobody will be told. Whoever leaves a refused task
// behind asks for it once that is noted, as Idle may have been told before.
func (p *Pool) TellIdle(t *Task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.aggregates[t.Aggregate]
	if a == nil {
		return false
	}
	a.refuse(t)
	return true
}

// admissible says why t cannot come in, if so.
func (p *Pool) admissible(t *Task) error {
	if p.closed {
		return ErrDraining
	}
	if t.stay.inLane {
		return ErrInLane
	}
	return nil
}

func (p *Pool) add(t *Task) {
	now := time.Now()
	p.seq++
	t.stay = stay{inLane: true, seq: p.seq}
	if t.Appended.IsZero() {
		t.Appended = now
	}
	a := p.aggregates[t.Aggregate]
	if a == nil {
		a = &aggregate{key: t.Aggregate}
		p.aggregates[t.Aggregate] = a
		a.enqueue(t, now)
		p.makeReady(a)
		return
	}
	a.enqueue(t, now)
	switch {
	case a.queue.head() != t:
	case a.place == isWaiting:
		p.endWait(a, now)
	case a.place == isReady:
		p.reclass(a)
	}
}

// makeReady puts a at the back of the ready list, and a worker on it if there
// is one to spare.
func (p *Pool) makeReady(a *aggregate) {
	p.readied++
	p.ready++
	a.place, a.turn, a.class = isReady, p.readied, p.classOf(a.queue.head())
	a.class.ready.push(a)
	if p.hasRoom(a.class) {
		p.staff(1)
	}
}

// Pause lets running runs end and starts no new ones until Resume. Tasks are
// still taken, and their clocks go on.
func (p *Pool) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
}

// Resume ends Pause.
func (p *Pool) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = false
	p.staff(p.ready)
}

// Paused reports whether the pool is paused.
func (p *Pool) Paused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}
