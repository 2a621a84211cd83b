package publisher

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// Publisher publishes what stands in outbox_events. Several may share a table, in one process or in
// many.
type Publisher struct {
	opts    Options
	router  *ier.Router
	metrics *metrics
	holds   *holds
	backoff backoff       // of an aggregate that was refused, and of what is out
	more    chan struct{} // a round has left rows behind; one call may wait for the assistant to start
	solo    atomic.Int64  // near claims in a row that were full and saw no other process at work
	indexed atomic.Bool   // the optional index is there
	workers *workers      // of publishes; they end with Run
	streak  streak        // of rounds that failed
	due     atomic.Int64  // rows that are neither published nor parked, at the last count
	sending time.Duration // bounds the publishing of a round; publishWithin but for tests
}

// New joins a publisher. It contacts nobody.
func New(o Options) (*Publisher, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("configure publisher: %w", err)
	}
	o = o.withDefaults()
	router, err := ier.New(ier.Config{
		Targets: map[string]ier.Target{o.Topic: topic{o.Target}}, Catalog: catalogOf(o.Topic),
		Breaker: o.Breaker, Registerer: o.Registerer, Log: o.Log, Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("configure publisher: %w", err)
	}
	p := &Publisher{
		opts: o, router: router, metrics: newMetrics(o.Registerer),
		holds: newHolds(), backoff: backoff{base: o.RetryBase, limit: o.RetryMax}, more: make(chan struct{}, 1),
		workers: newWorkers(), sending: publishWithin,
	}
	tellWaiting(o.Registerer, o.Topic, p.behindBreaker)
	return p, nil
}

// behindBreaker is how many rows wait for the topic as it is out.
func (p *Publisher) behindBreaker() float64 {
	if !p.router.Open(p.opts.Topic) {
		return 0
	}
	return float64(p.due.Load())
}

// Run publishes until ctx ends. Then it lets the calls under way come to their end, marks what was
// acknowledged, and returns nil. Whatever fails meanwhile is tried again. It may run once.
func (p *Publisher) Run(ctx context.Context) error {
	woken := make(chan struct{}, 1)
	defer p.workers.end()
	var beside sync.WaitGroup
	defer beside.Wait()
	p.survey(ctx) // by itself: beside a round it would take a connection more, whose process the database would start
	beside.Go(func() { p.listen(ctx, woken) })
	beside.Go(func() { p.surveys(ctx) })
	beside.Go(func() { p.assist(ctx) })
	pace := newPace(p.opts.Batch, p.opts.Poll, p.backoff)
	for ctx.Err() == nil {
		wait, awake := pace.next(p.round(ctx, pace.look()))
		p.rest(ctx, wait, awake, woken)
	}
	return nil
}

// rest waits: at an open breaker for the next probe at least, else until a notification or until an
// aggregate is let go, if those come first.
func (p *Publisher) rest(ctx context.Context, wait time.Duration, awake bool, woken <-chan struct{}) {
	if probe := p.router.NextProbe(p.opts.Topic, &contracts.Record{}); !probe.IsZero() {
		wait, awake = max(wait, time.Until(probe)), false
	}
	if left, ok := p.holds.next(p.opts.Now()); ok && awake {
		wait = min(wait, left)
	}
	if wait <= 0 {
		return
	}
	if !awake {
		woken = nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-timer.C:
	}
}

// round claims, publishes and marks, in one transaction.
func (p *Publisher) round(ctx context.Context, l look) report {
	r := report{near: l.window == 0, walk: l.window == walking, indexed: p.indexed.Load(), batch: p.opts.Batch}
	r.err = p.carry(ctx, l, &r)
	if r.err == nil || ctx.Err() == nil { // else it was to stop
		p.streak.note(r)
	}
	if r.err != nil && ctx.Err() == nil {
		p.leaveStandby(r.err)
		p.solo.Store(0) // a second round would do no better
		p.metrics.failed()
		p.opts.Log.Warn("round failed; what it published without a mark is published again",
			zap.Int("acknowledged", r.published), zap.Error(r.err))
	}
	return r
}

// carry does what round does, and tells r of it.
func (p *Publisher) carry(ctx context.Context, l look, r *report) error {
	tx, err := begin(ctx, p.opts.Pool, l.window, r.indexed)
	if err != nil {
		return err
	}
	defer tx.end(ctx)
	tx.from = l.from
	c, err := claimRows(ctx, tx, r.batch, p.opts.MaxAttempts, p.holds.at(p.opts.Now()))
	if err != nil {
		return err
	}
	r.claimed, r.sight, r.more, r.alone, r.end, r.passed = c.locked, c.sight, c.more, c.alone, c.end, c.passed
	p.metrics.records.Add(float64(len(c.rows)))
	each := 0
	if p.router.Open(p.opts.Topic) {
		each = 1
	} else if r.claimed == r.batch && r.indexed {
		p.wantHelp(r.near, r.alone)
	}
	a := plan(c.rows, p.opts.MaxAttempts, each)
	for _, row := range a.parked {
		p.holds.hold(row.aggregate, p.opts.Now().Add(p.opts.ParkedFor))
	}
	for _, rows := range a.runs {
		r.usable += len(rows)
	}
	v := p.publish(ctx, a.runs, c.more || c.locked > len(c.rows))
	for _, row := range a.timeless {
		v.refused = append(v.refused, refusal{row, timelessText, 1})
	}
	for _, row := range a.shapeless {
		v.refused = append(v.refused, refusal{row, shapelessText, p.opts.MaxAttempts - row.attempts})
	}
	r.published, r.outage = len(v.published), v.out()
	if err := p.mark(ctx, tx, v); err != nil {
		r.unmarked = true
		return err
	}
	r.marked = len(v.published)+len(v.refused) > 0
	p.tell(v)
	return nil
}

func (p *Publisher) jobs(rows run, more bool) []*ier.Job {
	targets := []string{p.opts.Topic}
	jobs := make([]*ier.Job, len(rows))
	for i, r := range rows {
		jobs[i] = &ier.Job{Record: r.record(), Data: r.payload, Lane: lane, Targets: targets, Attempt: r.attempts + 1}
		if more {
			jobs[i].Others = targets
		}
	}
	return jobs
}

// mark writes down what became of the rows, and ends the transaction. Once ctx has ended it may
// take Options.StopWithin.
func (p *Publisher) mark(ctx context.Context, tx *transaction, v *verdict) error {
	ids, reasons, counts := v.marks()
	if len(ids) == 0 {
		return nil
	}
	began := p.opts.Now()
	work, cancel := within(ctx, markWithin, p.opts.StopWithin)
	defer cancel()
	err := markRows(work, tx, ids, reasons, counts)
	if err == nil {
		err = tx.commit(work)
	}
	p.metrics.commit(len(ids), p.opts.Now().Sub(began), err)
	return err
}

// tell logs what a round did, and has the aggregates wait whose head was refused.
func (p *Publisher) tell(v *verdict) {
	for _, r := range v.published {
		p.opts.Log.Info("published", r.fields()...)
	}
	for _, f := range v.refused {
		attempts := f.row.attempts + f.count
		if attempts >= p.opts.MaxAttempts {
			p.holds.hold(f.row.aggregate, p.opts.Now().Add(p.opts.ParkedFor))
			p.opts.Log.Error("parked: its aggregate waits until it is retried",
				append(f.row.fields(), zap.Int("attempts", attempts), zap.String("error", f.text))...)
			continue
		}
		p.holds.hold(f.row.aggregate, p.opts.Now().Add(p.backoff.wait(attempts)))
	}
}
