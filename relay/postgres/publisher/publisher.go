package publisher

import (
	"context"
	"fmt"
	"sync"
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
	pace    *pace
	holds   holds
	refused backoff // the wait of an aggregate
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
	return &Publisher{
		opts: o, router: router, metrics: newMetrics(o.Registerer), pace: newPace(o),
		holds: holds{}, refused: backoff{base: o.RetryBase, limit: o.RetryMax},
	}, nil
}

// Run publishes until ctx ends. Then it lets the calls under way come to their end, marks what was
// acknowledged, and returns nil. Whatever fails meanwhile is tried again. It may run once.
func (p *Publisher) Run(ctx context.Context) error {
	woken := make(chan struct{}, 1)
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { p.listen(ctx, woken) })
	beside.Go(func() { p.count(ctx) })
	for ctx.Err() == nil {
		r := p.round(ctx)
		if r.err != nil && ctx.Err() == nil {
			p.metrics.failed()
			p.opts.Log.Warn("round failed; what it published without a mark is published again",
				zap.Int("acknowledged", r.published), zap.Error(r.err))
		}
		wait, awake := p.pace.next(r)
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
func (p *Publisher) round(ctx context.Context) (r report) {
	r.window, r.batch = p.pace.window, p.opts.Batch
	tx, err := begin(ctx, p.opts.Pool)
	if err != nil {
		r.err = err
		return r
	}
	defer tx.end(ctx)
	c, err := claimRows(ctx, tx, r.window, r.batch, p.holds.at(p.opts.Now()))
	if err != nil {
		r.err = err
		return r
	}
	r.claimed, r.seen = len(c.rows), c.seen
	p.metrics.records.Add(float64(len(c.rows)))
	each := 0
	if p.router.Open(p.opts.Topic) {
		each = 1
	}
	a := plan(c.rows, p.opts.MaxAttempts, each)
	for _, row := range a.parked {
		p.holds.hold(row.aggregate, p.opts.Now().Add(p.opts.ParkedFor))
	}
	v := p.publish(ctx, a.runs, c.seen >= r.window)
	r.published, r.outage = len(v.published), v.outages > 0
	r.err = p.mark(ctx, tx, v)
	if r.err == nil {
		p.tell(v)
	}
	return r
}

// publish hands the runs to the router, at the same time, and gathers what became of them. more
// tells that there are rows beside these.
func (p *Publisher) publish(ctx context.Context, runs []run, more bool) *verdict {
	outcomes := make([][]ier.Outcome, len(runs))
	var calls sync.WaitGroup
	for i, rows := range runs {
		calls.Go(func() { outcomes[i] = p.router.Deliver(ctx, p.jobs(rows, more)) })
	}
	calls.Wait()
	v := &verdict{}
	wasOut := func(at time.Time) bool { return p.router.WasOut(p.opts.Topic, at) }
	for i, rows := range runs {
		v.judge(rows, outcomes[i], wasOut)
	}
	return v
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
	ids, reasons := v.marks()
	if len(ids) == 0 {
		return nil
	}
	began := p.opts.Now()
	work, cancel := within(ctx, markWithin, p.opts.StopWithin)
	defer cancel()
	err := markRows(work, tx, ids, reasons)
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
		attempts := f.row.attempts + 1
		if attempts >= p.opts.MaxAttempts {
			p.holds.hold(f.row.aggregate, p.opts.Now().Add(p.opts.ParkedFor))
			p.opts.Log.Error("parked: its aggregate waits until it is retried",
				append(f.row.fields(), zap.Int("attempts", attempts), zap.String("error", f.text))...)
			continue
		}
		p.holds.hold(f.row.aggregate, p.opts.Now().Add(p.refused.wait(attempts)))
	}
}
