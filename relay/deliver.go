package relay

import (
	"context"
	"slices"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
	"outboxrelay/lanes"
)

// deliver is the handler of every lane: it hands a run of one aggregate's
// records and replays to the router and says of each what follows.
func (r *Relay) deliver(ctx context.Context, run []*lanes.Task) []lanes.Verdict {
	verdicts := make([]lanes.Verdict, len(run))
	jobs := make([]*ier.Job, 0, len(run))
	conclude := make([]func(ier.Outcome) lanes.Verdict, 0, len(run)) // one for each job
	owners := make([]int, 0, len(run))                               // indexes of the jobs' tasks
	begun := len(run)                                                // what comes after it waits for what comes before
	var withheld []string                                            // targets that records of the run wait for, and later ones with them
	for i, t := range run {
		if i >= begun {
			verdicts[i] = lanes.Verdict{Action: lanes.Again}
			continue
		}
		job, end, verdict := r.begin(ctx, t, &withheld)
		if job == nil {
			verdicts[i] = verdict
			if verdict.Action == lanes.Retry {
				begun = i + 1
			}
			continue
		}
		jobs, conclude, owners = append(jobs, job), append(conclude, end), append(owners, i)
	}
	for n, outcome := range r.router.Deliver(ctx, jobs) {
		verdicts[owners[n]] = conclude[n](outcome)
	}
	if r.tracing != nil {
		for i, t := range run {
			trailOf(t).waits(verdicts[i])
		}
	}
	return verdicts
}

// begin prepares a task's round of delivery: what to deliver, and what to do
// with the outcome. A nil job means that there is nothing to deliver, and the
// verdict stands already.
func (r *Relay) begin(ctx context.Context, t *lanes.Task, withheld *[]string) (*ier.Job, func(ier.Outcome) lanes.Verdict, lanes.Verdict) {
	drop := lanes.Verdict{Action: lanes.Drop}
	if p, ok := t.Work.(*replay); ok {
		if o := r.shares.of(p.share); o != nil && !o.grant.Valid() {
			return nil, nil, lanes.Verdict{Action: lanes.Retry, At: r.now().Add(lapsedPause)}
		}
		if !r.wanted(ctx, p) {
			return nil, nil, drop
		}
		job := p.job()
		p.trail.begin(job)
		return job, func(out ier.Outcome) lanes.Verdict { return r.concludeReplay(ctx, p, out) }, lanes.Verdict{}
	}
	e := t.Work.(*entry)
	ledger := e.outbox.ledger
	ledger.rest(e, false)
	if ledger.ended(e) {
		ledger.remove(e, time.Time{})
		return nil, nil, drop
	}
	if !e.outbox.grant.Valid() {
		return nil, nil, lanes.Verdict{Action: lanes.Retry, At: r.now().Add(lapsedPause)}
	}
	if !e.outbox.begun.over.Load() {
		return nil, nil, lanes.Verdict{Action: lanes.Retry, At: r.now().Add(time.Second), On: e.outbox.beginLabel()}
	}
	if ledger.buries(e.task.Aggregate) {
		return nil, nil, lanes.Verdict{Action: lanes.Retry, At: r.now().Add(freezeRecheck), On: buryLabel(e.task.Aggregate)}
	}
	if verdict, ok := e.outbox.turn(e, ledger.standing(e.rec.AggregateID), r.now()); ok {
		return nil, nil, verdict
	}
	if e.wait.After(r.now()) { // was retrying when it was read: its wait goes on
		return nil, nil, e.rest(lanes.Verdict{Action: lanes.Retry, At: e.wait})
	}
	if e.ahead && e.feed != nil && !e.feed.comesTo(e) {
		return nil, nil, e.rest(lanes.Verdict{Action: lanes.Retry, At: r.now().Add(aheadPause)})
	}
	e.ahead = false
	open, gated := e.targets()
	open, gated = withhold(open, gated, withheld)
	job := r.job(e, open)
	e.trail.begin(job)
	return job, func(out ier.Outcome) lanes.Verdict {
		if ledger.ended(e) {
			ledger.remove(e, time.Time{})
			return drop
		}
		return r.conclude(ctx, e, out, gated)
	}, lanes.Verdict{}
}

// lapsedPause is how long a record waits while the lease of its outbox could not
// be renewed in time: another instance may be about to take it.
const lapsedPause = 100 * time.Millisecond

func (r *Relay) job(e *entry, targets []string) *ier.Job {
	waits := ier.Waits{Lane: e.task.Waited(), Backoff: e.task.BackedOff()}
	if !e.rec.CreatedAt.IsZero() {
		waits.Firestore = max(e.readAt.Sub(e.rec.CreatedAt), 0)
	}
	return &ier.Job{
		Record: e.rec, Data: e.data, Lane: e.lane, Targets: targets, Attempt: e.rec.Attempts + 1, Waits: waits,
	}
}

// targets splits what is missing into what may be delivered to now and what is
// behind a gate.
func (e *entry) targets() (open, gated []string) {
	if e.feed == nil {
		return e.missing(), nil
	}
	return e.feed.split(e)
}

// withhold takes out of open what an older record of the run has to wait for,
// and adds what this one has to.
func withhold(open, gated []string, withheld *[]string) (stillOpen, nowGated []string) {
	if len(*withheld) > 0 {
		for _, t := range open {
			if slices.Contains(*withheld, t) {
				gated = append(gated, t)
			} else {
				stillOpen = append(stillOpen, t)
			}
		}
		open = stillOpen
	}
	*withheld = append(*withheld, gated...)
	return open, gated
}

// conclude judges one record's round of delivery.
func (r *Relay) conclude(ctx context.Context, e *entry, out ier.Outcome, gated []string) lanes.Verdict {
	o := e.outbox
	e.trail.conclude(out)
	for _, t := range out.Acked {
		e.rec.DeliveredTargets = append(e.rec.DeliveredTargets, t)
		e.unsaved = true
		if e.feed != nil {
			e.feed.gotThrough(t, e)
		}
	}
	if len(e.missing()) == 0 {
		r.forgive(e)
		o.settle(e, &settlement{entry: e, kind: settleDelivered, at: r.now(), size: 256})
		return lanes.Verdict{Action: lanes.Done}
	}
	blocked := out.Blocked
	var counted []ier.TargetFailure
	permanent, outage := false, "" // outage: a target that failed without its breaker being open
	for _, f := range out.Failed {
		switch {
		case ctx.Err() != nil:
			outage = f.Target // cut by our own stop: says nothing
		case f.Kind == contracts.Permanent:
			permanent = true
			counted = append(counted, f)
		case r.counts(f.Kind, f.Target):
			counted = append(counted, f)
		case r.router.Open(f.Target):
			blocked = append(blocked, f.Target)
			if f.Kind == contracts.Attributable && e.feed != nil {
				e.feed.probesFail(f.Target, e)
			}
		case e.outages >= o.tuning.OutageTolerance:
			// The target answers others: it is this record after all.
			counted = append(counted, f)
		default:
			outage = f.Target
		}
	}
	switch {
	case len(counted) > 0:
		for _, t := range blocked { // it does not probe there now
			if e.feed != nil {
				e.feed.probesFail(t, e)
			}
		}
		return r.failed(e, counted, permanent)
	case outage != "":
		e.outages++
		return e.await(lanes.Verdict{Action: lanes.Retry, At: r.now().Add(backoff(outageRetry, e.outages, r.random())), On: outage})
	case len(blocked)+len(gated) > 0:
		e.outages = 0
		return r.park(e, blocked, gated, out.Behind)
	}
	return lanes.Verdict{Action: lanes.Again} // behind an older record of its aggregate
}

// outageRetry spaces the tries of a record whose target failed in a way that
// does not count, until the target's breaker opens or the target answers: soon,
// as it costs the record nothing.
var outageRetry = contracts.RetryPolicy{Initial: 200 * time.Millisecond, Max: 2 * time.Second, Multiplier: 2}

// failed counts an attempt: the record is retried, or dead-lettered if this
// was the last one.
func (r *Relay) failed(e *entry, counted []ier.TargetFailure, permanent bool) lanes.Verdict {
	o, rec := e.outbox, e.rec
	e.outages = 0
	r.forgive(e)
	rec.Attempts++
	for _, f := range counted {
		e.blamed.note(f)
		rec.LastError = lastError(f.Target, f.Code, f.Message)
		rec.AttemptErrors = append(rec.AttemptErrors, contracts.AttemptError{
			At: f.At, Attempt: rec.Attempts, Target: f.Target, Code: f.Code, Message: f.Message,
		})
	}
	switch {
	case permanent:
		o.ledger.bury(e)
		o.bury(e, contracts.PermanentFailure, e.tier)
		return lanes.Verdict{Action: lanes.Drop}
	case rec.Attempts >= o.catalog.Retry.MaxAttempts:
		reason, tier := e.exhausted()
		o.ledger.bury(e)
		o.bury(e, reason, tier)
		return lanes.Verdict{Action: lanes.Drop}
	}
	at := r.now().Add(backoff(o.catalog.Retry, rec.Attempts, r.random()))
	e.saved(contracts.Retrying)
	o.settle(e, retrySettlement(e, at, r.now()))
	return e.rest(lanes.Verdict{Action: lanes.Retry, At: at})
}

// park lets a record wait for targets that are down: as the one that probes
// for them, or out of memory, in Firestore.
func (r *Relay) park(e *entry, blocked, gated, behind []string) lanes.Verdict {
	probe := lanes.Verdict{Action: lanes.Retry, At: r.now().Add(strayProbe)}
	for _, t := range blocked {
		if at := r.router.NextProbe(t); probe.On == "" || at.Before(probe.At) {
			probe.At, probe.On = at, t
		}
	}
	if e.feed == nil {
		return probe
	}
	r.forgive(e)
	unsaved := e.unsaved || e.rec.Status == contracts.Retrying
	parked := e.feed.park(e, blocked, append(gated, behind...), unsaved)
	for _, t := range blocked {
		if !r.router.Open(t) { // it answered while the record's other targets did not
			e.feed.open(targetGate(t))
		}
	}
	switch parked {
	case parkHold:
		return e.await(probe)
	case parkAgain:
		return lanes.Verdict{Action: lanes.Again}
	case parkRest:
		return e.rest(lanes.Verdict{Action: lanes.Retry, At: r.now().Add(rereadPause)})
	case parkSave:
		e.saved(contracts.Pending)
		e.outbox.settle(e, &settlement{entry: e, kind: settleProgress, at: r.now(), size: 256})
	case parkLeave:
		e.trail.end(outcomeLeft)
	}
	return lanes.Verdict{Action: lanes.Drop}
}

// rereadPause is the wait of a record while an older one of its aggregate is
// written and read again: about the time of both.
const rereadPause = 20 * time.Millisecond

// strayProbe is the wait of a stray record whose target is down: it stays in
// memory, as no feed would bring it again.
const strayProbe = 2 * time.Second

// saved notes what the settlement under way makes true in Firestore.
func (e *entry) saved(s contracts.Status) {
	e.unsaved = false
	e.rec.Status = s
}

// await is rest for a wait that costs the record nothing.
func (e *entry) await(v lanes.Verdict) lanes.Verdict {
	e.outbox.ledger.await(e)
	return v
}

// rest takes the record out of its feed's room while it waits.
func (e *entry) rest(v lanes.Verdict) lanes.Verdict {
	e.outbox.ledger.rest(e, true)
	return v
}
