package relay

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
)

// outbox relays one collection, or one shard of it: a reader for each lane that
// it declares or in which records stand, a listener for strays, a sweep for what no
// listener can see. It lives as long as this instance owns the share.
type outbox struct {
	spec     *contracts.Outbox
	share    contracts.Share
	grant    grant // to deliver
	catalog  *contracts.Catalog
	store    Store
	tuning   Tuning
	now      func() time.Time
	random   func() float64 // uniform in [0,1)
	log      *zap.Logger
	guard    guard
	metrics  *Metrics
	tracing  *tracing
	health   *outboxHealth
	pools    map[contracts.Lane]*lanes.Pool
	settlers map[contracts.Lane]*settler
	// pageSlots has one page of backlogs after the other read and decoded, for each
	// lane, so that none waits for another lane's: two at once drained no faster on either
	// cloud, and took 14 MiB more.
	pageSlots map[contracts.Lane]chan struct{}
	pacers    map[contracts.Lane]*pacer
	// beginTurns are the turns of all shares to begin.
	beginTurns beginTurns
	received   received

	ledger  *ledger
	intakes []*intake     // one for each lane, the declared ones first
	opened  chan struct{} // a token when another lane is read
	begun   beginning
	backlog *backlog
	pins    pins        // of its replays
	retires atomic.Bool // it is being given back: no delivery begins

	freezes *freezes
	thaws   *thaws
	burials *burials

	disagreements disagreements
}

func (r *Relay) newOutbox(share contracts.Share, g grant) *outbox {
	spec := r.catalog.Outbox(share.Outbox)
	o := &outbox{
		spec: spec, share: share, grant: g, catalog: r.catalog, store: r.store, tuning: r.tuning, now: r.now, random: r.random,
		log: r.log.With(zap.String("outbox", share.String())), metrics: r.metrics, tracing: r.tracing, health: newOutboxHealth(share, spec, r.metrics, r.now()),
		pools: r.pools, settlers: r.settlers, pageSlots: r.pageSlots, pacers: r.pacers, beginTurns: r.beginTurns, received: r.received, ledger: newLedger(),
		freezes: r.freezes, thaws: newThaws(), burials: r.burials,
		disagreements: newDisagreements(), backlog: newBacklog(r.now), opened: make(chan struct{}, 1),
	}
	o.guard = guard{o.log, r.metrics.panics}
	o.newIntakes(r.memories)
	o.begun = newBeginning(len(spec.Lanes()), o.now(), r.tuning.CommitTimeout-g.Idle())
	return o
}

// run relays the outbox until ctx ends.
func (o *outbox) run(ctx context.Context) error {
	for range o.spec.Lanes() {
		o.backlog.begins() // until its reader has looked
	}
	g, ctx := errgroup.WithContext(ctx)
	began := o.beginTurns.turn(ctx)
	o.lookEarly(ctx, g)
	g.Go(func() error { defer began(); o.settleIn(ctx); return nil })
	for _, in := range o.intakes {
		r := o.newReader(in)
		g.Go(func() error { return r.run(ctx) })
		g.Go(func() error { return r.drainLoop(ctx) })
	}
	for _, scan := range o.strayScans() {
		g.Go(func() error {
			o.kept(ctx, partStrays, func(ctx context.Context) { o.watchStrays(ctx, scan) })
			return nil
		})
	}
	g.Go(func() error { return o.sweepLoop(ctx) })
	g.Go(func() error { return o.proofLoop(ctx) })
	g.Go(func() error { o.kept(ctx, partThaw, o.thawLoop); return nil })
	return g.Wait()
}

// kept runs a part of the outbox until ctx ends, whatever panics in it.
func (o *outbox) kept(ctx context.Context, part string, f func(context.Context)) {
	o.guard.keep(ctx, part, o.tuning.retryDelay(), f)
}

// newEntry decodes and judges a document that in read; one that was searched and
// that no feed brings, without it. It is not in memory yet.
func (o *outbox) newEntry(d Doc, in *intake) *entry {
	rec, checked := o.decode(d)
	e := &entry{
		outbox: o, rec: rec, route: checked.Route, lane: checked.Lane, tier: checked.Tier,
		data: checked.Data, faults: checked.Faults, readAt: o.now(),
	}
	if rec.Fields = nil; len(e.faults) == 0 {
		// The envelope is all that a delivery needs. A dead letter, which is rare,
		// reads the document again.
		rec.Payload, rec.PayloadJSON = nil, ""
	} else {
		read := d // on the heap, which d need not be
		e.doc = &read
	}
	e.describe(d, in)
	o.disagree(rec, checked.Disagreements)
	return e
}

// submit sends a record that was taken into memory on its way: to its lane, or
// to the dead-letter queue when it breaks the contract.
func (o *outbox) submit(e *entry) {
	o.metrics.records.WithLabelValues(o.spec.Name, string(e.lane)).Inc()
	o.received.add(e.lane)
	if e.trail == nil { // else it comes from a hold that was given up
		e.trail = o.tracing.record(e)
	}
	if len(e.faults) > 0 {
		e.trail.refuse(e.faults)
		e.rec.LastError = contracts.Clip("contract violation: " + e.faults.Error())
		e.rec.AttemptErrors = append(e.rec.AttemptErrors, faultErrors(e.faults, o.now())...)
		o.bury(e, contracts.ContractViolation, e.tier)
		return
	}
	switch standing := o.ledger.standing(e.AggregateID); standing {
	case feed.Frozen:
		o.hold(e)
		return
	case feed.Releasing, feed.Thawing: // it was in backoff
		o.leave(e)
		return
	case feed.Free, feed.Dying:
	}
	o.log.Debug("record taken", zap.String("record", e.rec.ID), zap.String("lane", string(e.lane)), zap.String("traceId", e.rec.TraceID))
	pool := o.pools[e.lane]
	if e.Origin != feed.Read {
		if err := pool.Submit(&e.task); err != nil {
			o.notTaken(e)
		}
		return
	}
	switch taken, err := pool.Offer(&e.task, o.tuning.Behind); {
	case err != nil:
		o.notTaken(e)
	case !taken:
		o.refused(e)
	}
}

// submitTaken submits what was taken into memory. It reports whether something was.
func (o *outbox) submitTaken(actions []feed.Action) (taken bool) {
	for _, a := range actions {
		if a.Do == feed.Submit {
			taken = true
			o.submitGuarded(entryOf(a.Record))
		}
	}
	return taken
}

// submitGuarded is submit, but a record over whose submission the program panics
// does not stay in memory, where nobody would take it on.
func (o *outbox) submitGuarded(e *entry) {
	submitted := false
	defer func() {
		if !submitted {
			o.notTaken(e)
		}
	}()
	o.submit(e)
	submitted = true
}

// notTaken lets go of a record that its lane does not take, as the relay stops: it
// stays in Firestore as it is.
func (o *outbox) notTaken(e *entry) {
	e.trail.end(outcomeLeft)
	o.ledger.step(feed.GivenBack{Record: &e.Record})
}

// refused leaves a record behind its aggregate's gate, until its lane has none of
// the aggregate left.
func (o *outbox) refused(e *entry) {
	o.left(e, o.ledger.becomes(feed.Refused{Record: &e.Record, By: e.lane, Unsaved: e.unwritten()}))
	if !o.pools[e.lane].TellIdle(&e.task) { // it went idle before the gate was closed
		o.idle(e.Aggregate, e.lane)
	}
}

// idle hears that an aggregate has nothing left in a lane after records of it were
// refused there: they may come now.
func (o *outbox) idle(aggregate string, lane contracts.Lane) {
	o.ledger.step(feed.Idle{Aggregate: aggregate, Lane: lane})
}

// elsewhere hears that somebody else settled a document for good, as it was read, and
// returns what is in memory of it; nil: nothing is. Nobody waits for its turn any more.
func (o *outbox) elsewhere(d Doc) (was *entry) {
	o.ledger.step(feed.Elsewhere{ID: d.ID, At: d.UpdateTime})
	over := look(o.ledger, func(m *feed.Machine) bool {
		r := m.Held(d.ID)
		if r != nil {
			was = entryOf(r)
		}
		return r != nil && r.Over()
	})
	if over && len(o.pools[was.lane].Withdraw(was.Aggregate, func(t *lanes.Task) bool { return t == &was.task })) > 0 {
		was.giveBack()
	}
	return was
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
func (o *outbox) openTarget(target string) { o.ledger.step(feed.Answers{Target: target}) }

func (o *outbox) settle(e *entry, st *settlement) {
	e.trail.settle(st)
	o.settlers[e.lane].settle(st)
}

// sweepPage and sweepBytes are how many documents a page of what has no feed may
// hold, and what they take up, but for the last.
const (
	sweepPage  = 200
	sweepBytes = 8 << 20
)

// sweepPage reads a page of what has no feed, and reports whether there may be more
// behind it.
func (o *outbox) sweepPage(ctx context.Context, scan Scan) (page []Doc, full bool, err error) {
	scan.Limit, scan.Bytes = sweepPage, sweepBytes
	if page, err = o.store.Page(ctx, scan); err != nil {
		return nil, false, err
	}
	return page, len(page) >= scan.Limit || len(page) > 0 && page[len(page)-1].More, nil
}

// pageByID hands every document of a scan to take, in the order of their IDs.
func (o *outbox) pageByID(ctx context.Context, scan Scan, take func(Doc)) error {
	for {
		var page []Doc
		var full bool
		err := o.tuning.patiently(ctx, func(ctx context.Context) (err error) {
			page, full, err = o.sweepPage(ctx, scan)
			return err
		})
		if err != nil {
			return err
		}
		for _, d := range page {
			if !d.Canary() {
				take(d)
			}
		}
		if !full {
			return nil
		}
		scan.AfterID = page[len(page)-1].ID
	}
}

// found takes a record into memory that no feed brought, and submits it. It reports
// false for one that was there, or has to stay in Firestore.
func (o *outbox) found(e *entry) bool {
	if in := o.intakeFor(e.rec.Lane); in != nil {
		in.submitting.Lock()
		defer in.submitting.Unlock()
	}
	return o.submitTaken(o.ledger.step(feed.Found{Record: &e.Record}))
}
