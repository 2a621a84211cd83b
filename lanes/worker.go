package lanes

import (
	"runtime/debug"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// open reports whether runs may start.
func (p *Pool) open() bool { return p.ctx != nil && !p.paused && !p.closed }

// staff starts up to n workers, as far as they are to be had. Each ends when
// there is nothing for it to take.
func (p *Pool) staff(n int) {
	if !p.open() {
		return
	}
	for range min(n, p.cfg.Policy.Workers-p.workers) {
		p.workers++
		go p.work()
	}
}

func (p *Pool) work() {
	for a := p.take(); a != nil; a = p.take() {
		p.finish(a, p.handle(a))
	}
}

// take begins the run of the aggregate whose turn it is. It returns nil when the worker
// has to end.
func (p *Pool) take() *aggregate {
	p.mu.Lock()
	defer p.mu.Unlock()
	var c *class
	if p.open() {
		c = p.next()
	}
	if c == nil {
		p.workers--
		if p.workers == 0 && p.quiet != nil {
			close(p.quiet)
		}
		return nil
	}
	a := c.ready.pop()
	p.ready--
	p.begin(a, time.Now())
	return a
}

// begin takes a's next run out of its queue: the head and what may join it. It ends
// before the first task that waits for its retry.
func (p *Pool) begin(a *aggregate, now time.Time) {
	a.place = isRunning
	a.run = make([]*Task, 0, min(p.cfg.Policy.Run, len(a.queue)))
	a.needs = slices.Clip(a.queue.head().Needs) // clipped: it is the task's own
	for len(a.run) < cap(a.run) && (len(a.run) == 0 || !a.queue.head().waits(now)) && p.joins(a, a.queue.head()) {
		t := a.queue.pop()
		a.clock(t, now)
		a.run = append(a.run, t)
	}
	p.occupy(a.needs, 1)
}

// handle calls the handler and makes up for its faults.
func (p *Pool) handle(a *aggregate) (verdicts []Verdict) {
	defer func() {
		if v := recover(); v != nil {
			verdicts = p.fault(a, "panic: "+contracts.PanicText(v))
		}
	}()
	verdicts = p.cfg.Handler(p.ctx, a.run)
	if problem := faultIn(verdicts, len(a.run)); problem != "" {
		verdicts = p.fault(a, problem)
	}
	return verdicts
}

// fault reports a fault of the handler and returns the verdicts in its place.
func (p *Pool) fault(a *aggregate, problem string) []Verdict {
	p.mu.Lock()
	p.faults++
	p.mu.Unlock()
	p.log.Error("lane handler is at fault: run will be tried again",
		zap.String("problem", problem),
		zap.String("aggregate", a.key),
		zap.Int("tasks", len(a.run)),
		zap.Duration("delay", faultDelay),
		zap.ByteString("stack", debug.Stack()))
	verdicts := make([]Verdict, len(a.run))
	for i := range verdicts {
		verdicts[i] = Verdict{Action: Retry, At: time.Now().Add(faultDelay)}
	}
	return verdicts
}

// finish ends a's run: what is finished leaves, the rest goes back to its place.
func (p *Pool) finish(a *aggregate, verdicts []Verdict) {
	shed, idle := p.conclude(a, verdicts, p.short(a, verdicts))
	if len(shed) > 0 {
		p.cfg.Shed(shed)
		idle = p.concludeShed(a)
	}
	if idle && p.cfg.Idle != nil {
		p.cfg.Idle(a.key)
	}
}

// conclude is the part of finish that needs the lock. It reports whether Idle has to
// be told; or returns what Shed is to be handed before a goes on.
func (p *Pool) conclude(a *aggregate, verdicts []Verdict, short bool) (shed []*Task, idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.occupy(a.needs, -1)
	p.fill(len(a.needs) - 1) // the end of one run may make room for several: this worker takes one
	for i, t := range a.run {
		if verdicts[i].Action == Done {
			p.judge(t, now)
		}
	}
	if p.drained {
		return nil, false // the tasks were given back: they are no longer ours to write to
	}
	for i, t := range a.run {
		switch v := verdicts[i]; v.Action {
		case Done, Drop:
			p.leave(t)
		case Retry:
			t.hold(v, a.woken)
			a.enqueue(t, now)
		case Again:
			a.enqueue(t, now)
		}
	}
	a.run, a.needs, a.woken = nil, nil, nil
	if short && !p.closed {
		if shed = p.shed(a, now); len(shed) > 0 {
			return shed, false
		}
	}
	return nil, p.settle(a, now)
}

// judge counts a delivery and whether it kept the SLA.
func (p *Pool) judge(t *Task, now time.Time) {
	p.delivered++
	if now.Sub(t.Appended) > p.cfg.Policy.SLA {
		p.breaches++
	}
}

// leave ends t's stay in the lane.
func (p *Pool) leave(t *Task) {
	t.stay.inLane = false
	if p.wait != nil {
		p.wait.Observe(t.Waited().Seconds())
	}
}

// settle finds a's place after a run. It reports whether Idle has to be told.
func (p *Pool) settle(a *aggregate, now time.Time) bool {
	switch head := a.queue.head(); {
	case head == nil:
		delete(p.aggregates, a.key)
		return a.refused && !p.closed
	case head.waits(now):
		p.beginWait(a, now)
	default:
		p.makeReady(a)
	}
	return false
}
