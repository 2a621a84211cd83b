package relay

import (
	"context"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/lanes"
)

// outbox relays one collection: a reader for each lane that it declares, a
// listener for strays, a sweep for what no listener can see.
type outbox struct {
	spec     *contracts.Outbox
	catalog  *contracts.Catalog
	store    Store
	tuning   Tuning
	now      func() time.Time
	random   func() float64 // uniform in [0,1)
	log      *zap.Logger
	metrics  *Metrics
	health   *outboxHealth
	pools    map[contracts.Lane]*lanes.Pool
	settlers map[contracts.Lane]*settler
	// pageSlots bounds the pages that are read and decoded at once, for each
	// lane, so that none waits for another lane's.
	pageSlots map[contracts.Lane]chan struct{}
	pacers    map[contracts.Lane]*pacer

	ledger *ledger
	feeds  []*feed // one for each declared lane

	freezes *freezes
	thaws   *thaws
	burials *burials
}

func (r *Relay) newOutbox(spec *contracts.Outbox) *outbox {
	o := &outbox{
		spec: spec, catalog: r.catalog, store: r.store, tuning: r.tuning, now: r.now, random: r.random,
		log: r.log.With(zap.String("outbox", spec.Name)), metrics: r.metrics, health: newOutboxHealth(spec, r.metrics),
		pools: r.pools, settlers: r.settlers, pageSlots: r.pageSlots, pacers: r.pacers, ledger: newLedger(),
		freezes: r.freezes, thaws: newThaws(), burials: r.burials,
	}
	for _, lane := range spec.Lanes() {
		o.feeds = append(o.feeds, newFeed(o.ledger, lane, r.catalog.Lanes[lane].InFlight))
	}
	return o
}

// run relays the outbox until ctx ends.
func (o *outbox) run(ctx context.Context) error {
	o.loadRetrying(ctx)
	g, ctx := errgroup.WithContext(ctx)
	for _, f := range o.feeds {
		r := &reader{
			outbox: o, feed: f, window: o.catalog.Lanes[f.lane].Window,
			scan: Scan{Outbox: o.spec.Name, Kind: ScanLane, Lane: f.lane},
			log:  o.log.With(zap.String("lane", string(f.lane))),
		}
		g.Go(func() error { return r.run(ctx) })
	}
	g.Go(func() error { return o.watchStrays(ctx) })
	g.Go(func() error { return o.sweepLoop(ctx) })
	g.Go(func() error { return o.thawLoop(ctx) })
	return g.Wait()
}

// newEntry decodes and judges a document. It is not in memory yet.
func (o *outbox) newEntry(d Doc, f *feed) *entry {
	rec, faults := contracts.DecodeRecord(o.spec.Name, d.ID, d.Fields())
	checked := o.catalog.Check(rec, faults)
	e := &entry{
		outbox: o, feed: f, doc: d, rec: rec, route: checked.Route, lane: checked.Lane, tier: checked.Tier,
		data: checked.Data, faults: checked.Faults, readAt: o.now(),
	}
	if rec.Fields = nil; len(e.faults) == 0 {
		// The envelope is all that a delivery needs. A dead letter, which is rare,
		// reads the document again.
		rec.Payload, e.doc.Fields, e.doc.Raw = nil, nil, nil
	}
	e.task = lanes.Task{
		Aggregate: aggregateKey(o.spec.Name, rec.AggregateID), Version: rec.AggregateVersion, Tie: d.ID,
		Appended: rec.CreatedAt, Work: e,
	}
	for _, field := range checked.Disagreements {
		o.metrics.disagreements.WithLabelValues(o.spec.Name, field).Inc()
		o.log.Warn("record and catalog disagree, the catalog wins", zap.String("field", field), zap.String("record", d.ID), zap.String("traceId", rec.TraceID))
	}
	return e
}

// submit sends a record that was taken into memory on its way: to its lane, or
// to the dead-letter queue when it breaks the contract.
func (o *outbox) submit(e *entry) {
	o.metrics.records.WithLabelValues(o.spec.Name, string(e.lane)).Inc()
	if len(e.faults) > 0 {
		e.rec.LastError = clip("contract violation: " + e.faults.Error())
		e.rec.AttemptErrors = append(e.rec.AttemptErrors, faultErrors(e.faults, o.now())...)
		o.bury(e, contracts.ContractViolation, e.tier)
		return
	}
	switch o.ledger.standing(e.rec.AggregateID) {
	case standFrozen:
		o.hold(e)
		return
	case standReleasing, standThawing: // it was retrying: see admitStray
		o.leave(e)
		return
	}
	o.log.Debug("record taken", zap.String("record", e.rec.ID), zap.String("lane", string(e.lane)), zap.String("traceId", e.rec.TraceID))
	pool := o.pools[e.lane]
	if e.feed == nil {
		if err := pool.Submit(&e.task); err != nil {
			o.ledger.remove(e, time.Time{}) // the relay stops; the record stays as it is
		}
		return
	}
	switch taken, err := pool.Offer(&e.task, o.tuning.Behind); {
	case err != nil:
		o.ledger.remove(e, time.Time{})
	case !taken:
		e.feed.leaveAggregate(e)
		if !pool.Holds(e.task.Aggregate) { // it went idle before the gate was closed
			o.idle(e.task.Aggregate)
		}
	}
}

// faultErrors tells every fault of a record as an error of its dead letter.
func faultErrors(faults contracts.Faults, at time.Time) []contracts.AttemptError {
	out := make([]contracts.AttemptError, len(faults))
	for i, f := range faults {
		out[i] = contracts.AttemptError{At: at, Code: string(contracts.ContractViolation), Message: clip(f.String())}
	}
	return out
}

// idle hears that an aggregate has nothing left in its lane after records of
// it were refused: they may come now.
func (o *outbox) idle(aggregate string) {
	for _, f := range o.feeds {
		f.open(aggregateGate(aggregate))
	}
}

// flows tells the lanes that give way to this one that its records come in.
func (o *outbox) flows(lane contracts.Lane) {
	for paced, p := range o.pacers {
		if paced != lane {
			p.flows()
		}
	}
}

// openTarget lets records through to a target that answers again.
func (o *outbox) openTarget(target string) {
	for _, f := range o.feeds {
		f.open(targetGate(target))
	}
}

func (o *outbox) settle(e *entry, st *settlement) { o.settlers[e.lane].settle(st) }

// sweepPage is the page size of scans by document ID.
const sweepPage = 200

// loadRetrying takes the records in backoff into memory before anything else
// is read: they are older than what is pending of their aggregates. It tries
// until it succeeded or ctx ends.
func (o *outbox) loadRetrying(ctx context.Context) {
	delay := newRetryDelay(o.tuning.ListenBackoff, o.tuning.ListenBackoffMax)
	for {
		scan := Scan{Outbox: o.spec.Name, Kind: ScanRetrying, Limit: sweepPage}
		err := o.pageByID(ctx, scan, func(d Doc) {
			if c, _ := o.ledger.consider(d); c != considerTake {
				return
			}
			e := o.newEntry(d, nil)
			e.wait = e.rec.NextAttemptAt
			if o.ledger.admitStray(e) {
				o.submit(e)
			}
		})
		if err == nil || ctx.Err() != nil {
			return
		}
		o.log.Warn("read records in backoff", zap.Error(err))
		delay.sleep(ctx)
	}
}

// pageByID hands every document of a scan to take, in the order of their IDs.
func (o *outbox) pageByID(ctx context.Context, scan Scan, take func(Doc)) error {
	for {
		page, err := o.store.Page(ctx, scan)
		if err != nil {
			return err
		}
		for _, d := range page {
			if !isCanary(d.ID) {
				take(d)
			}
		}
		if len(page) < scan.Limit {
			return nil
		}
		scan.AfterID = page[len(page)-1].ID
	}
}

// watchStrays listens for records whose lane the outbox does not declare, and
// takes them as they come. Their window refills as they are settled.
func (o *outbox) watchStrays(ctx context.Context) error {
	scan := Scan{Outbox: o.spec.Name, Kind: ScanStrays, Lanes: o.spec.Lanes(), Limit: o.catalog.Lanes[contracts.BackgroundLane].Window}
	l := o.startListener(ctx, scan, o.log.With(zap.String("lane", "strays")))
	defer l.stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.ready:
			docs, _ := l.take()
			o.takeStrays(docs)
		}
	}
}

// takeStrays takes documents that no feed brought into memory.
func (o *outbox) takeStrays(docs []Doc) (taken int) {
	for _, d := range docs {
		if c, _ := o.ledger.consider(d); c != considerTake {
			continue
		}
		if e := o.newEntry(d, nil); o.ledger.admitStray(e) {
			taken++
			o.submit(e)
		}
	}
	return taken
}
