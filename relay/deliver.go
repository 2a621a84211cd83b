package relay

import (
	"context"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/ier"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
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
	waits := func(targets []string) { r.pools[jobs[0].Lane].WaitsFor(run[0].Aggregate, targets) }
	for n, outcome := range r.router.Deliver(ctx, jobs, waits) {
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
		if p.skipTwins(); len(p.targets) == 0 {
			p.finish(dlq.Round{Failed: p.unrouted}, nil)
			return nil, nil, drop
		}
		job := p.job()
		p.trail.begin(job)
		return job, func(out ier.Outcome) lanes.Verdict { return r.concludeReplay(ctx, p, out) }, lanes.Verdict{}
	}
	e := t.Work.(*entry)
	if e.outbox.retires.Load() { // it was woken before it could be taken out of its lane
		e.giveBack()
		return nil, nil, drop
	}
	held, on := r.holdsUp(e)
	turn := e.outbox.ledger.becomes(feed.Turn{
		Record: &e.Record, NotNow: !held.IsZero(), Later: e.wait.After(r.now()), Unsaved: e.unwritten(), Withheld: *withheld,
	})
	wait := lanes.Verdict{Action: lanes.Retry}
	switch turn.Do {
	case feed.Deliver:
		gated := turn.Gated
		*withheld = append(*withheld, gated...)
		job := r.job(e, turn.Open)
		job.Others = turn.Others
		e.trail.begin(job)
		return job, func(out ier.Outcome) lanes.Verdict { return r.conclude(ctx, e, out, gated) }, lanes.Verdict{}
	case feed.WaitTurn:
		if wait.At, wait.On = held, on; held.IsZero() {
			wait.At = e.wait
		}
		return nil, nil, wait
	case feed.WaitBurial:
		wait.At, wait.On = r.now().Add(freezeRecheck), buryLabel(e.Aggregate)
		return nil, nil, wait
	case feed.WaitFreeze:
		wait.At, wait.On = r.now().Add(freezeRecheck), freezeLabel(e.AggregateID)
		return nil, nil, wait
	case feed.WaitOlder:
		wait.At = r.now().Add(aheadPause)
		return nil, nil, wait
	case feed.Hold:
		e.outbox.settleHeld(e)
	default:
		e.outbox.left(e, turn)
	}
	return nil, nil, drop
}

// holdsUp says until when nothing of e's outbox may be delivered, and for what it
// waits; zero: it may.
func (r *Relay) holdsUp(e *entry) (until time.Time, on string) {
	switch o := e.outbox; {
	case !o.grant.Valid():
		return r.now().Add(lapsedPause), ""
	case !o.begun.over.Load():
		return r.now().Add(time.Second), o.beginLabel()
	}
	return time.Time{}, ""
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

// conclude judges one record's round of delivery.
func (r *Relay) conclude(ctx context.Context, e *entry, out ier.Outcome, gated []string) lanes.Verdict {
	e.trail.conclude(out)
	e.rec.DeliveredTargets = append(e.rec.DeliveredTargets, out.Acked...)
	e.unsaved = e.unsaved || len(out.Acked) > 0
	tried := feed.Tried{Record: &e.Record, Acked: out.Acked, Blocked: out.Blocked, Gated: append(gated, out.Behind...)}
	if len(e.missing()) == 0 {
		return r.goesOn(tried, failures{})
	}
	failed := r.sort(ctx, e, out.Failed)
	tried.Blocked = append(tried.Blocked, failed.blocked...)
	tried.Alone, tried.InVain = failed.alone, failed.inVain
	switch {
	case len(failed.counted) > 0:
		tried.Alone = append(tried.Alone, tried.Blocked...) // it does not probe there now
		tried.Then = r.count(e, failed)
	case failed.outage != "":
		tried.Then = feed.Awaits
	case len(tried.Blocked)+len(gated) > 0:
		e.outages = 0
		return r.park(tried)
	}
	return r.goesOn(tried, failed)
}

// goesOn does with a record what its round of delivery led to, unless somebody else
// settled it meanwhile: in backoff it would hold up the replay of its dead letter.
func (r *Relay) goesOn(tried feed.Tried, failed failures) lanes.Verdict {
	e := entryOf(tried.Record)
	o := e.outbox
	if o.ledger.becomes(tried).Do == feed.LetGo {
		return lanes.Verdict{Action: lanes.Drop}
	}
	switch tried.Then {
	case feed.Dies:
		reason, tier := e.exhausted()
		if failed.permanent {
			reason = contracts.PermanentFailure
		}
		o.bury(e, reason, tier)
		return lanes.Verdict{Action: lanes.Drop}
	case feed.Retries:
		at := r.now().Add(backoff(o.catalog.Retry, e.rec.Attempts, r.random()))
		e.saved(contracts.Retrying)
		o.settle(e, retrySettlement(e, at, r.now()))
		return lanes.Verdict{Action: lanes.Retry, At: at}
	case feed.Awaits:
		e.outages++
		return lanes.Verdict{Action: lanes.Retry, At: r.now().Add(backoff(outageRetry, e.outages, r.random())), On: failed.outage}
	}
	if len(e.missing()) > 0 { // it is behind an older record of its aggregate
		return lanes.Verdict{Action: lanes.Again}
	}
	r.forgive(e)
	o.settle(e, &settlement{entry: e, kind: settleDelivered, at: r.now(), size: 256})
	return lanes.Verdict{Action: lanes.Done}
}

// failures are those of one round, by what they mean.
type failures struct {
	counted   []ier.TargetFailure // that count as an attempt
	permanent bool                // one of them will never succeed
	blocked   []string            // targets that are out after all
	alone     []string            // of these, where the record failed for itself
	inVain    []string            // of these, where it has probed for long
	outage    string              // a target that failed without its breaker being open
}

// sort says what a record's failures mean.
func (r *Relay) sort(ctx context.Context, e *entry, all []ier.TargetFailure) (out failures) {
	for _, f := range all {
		switch {
		case ctx.Err() != nil:
			out.outage = f.Target // cut by our own stop: says nothing
		case f.Kind == contracts.Permanent:
			out.permanent = true
			out.counted = append(out.counted, f)
		case r.counts(f.Kind, f.Target):
			out.counted = append(out.counted, f)
		case r.router.Open(f.Target):
			out.blocked = append(out.blocked, f.Target)
			switch e.vain++; {
			case f.Kind == contracts.Attributable:
				out.alone = append(out.alone, f.Target)
			case e.vain >= e.outbox.tuning.OutageTolerance:
				out.inVain = append(out.inVain, f.Target)
			}
		case e.outages >= e.outbox.tuning.OutageTolerance:
			// The target answers others: it is this record after all.
			out.counted = append(out.counted, f)
		default:
			out.outage = f.Target
		}
	}
	return out
}

// outageRetry spaces the tries of a record whose target failed in a way that
// does not count, until the target's breaker opens or the target answers: soon,
// as it costs the record nothing.
var outageRetry = contracts.RetryPolicy{Initial: 200 * time.Millisecond, Max: 2 * time.Second, Multiplier: 2}

// count counts an attempt, and says whether the record is retried or dies of it.
func (r *Relay) count(e *entry, f failures) feed.Then {
	rec := e.rec
	e.outages = 0
	r.forgive(e)
	rec.Attempts++
	for _, f := range f.counted {
		e.blamed.note(f)
		rec.LastError = lastError(f.Target, f.Code, f.Message)
		rec.AttemptErrors = append(rec.AttemptErrors, contracts.AttemptError{
			At: f.At, Attempt: rec.Attempts, Target: f.Target, Code: f.Code, Message: f.Message,
		})
	}
	if f.permanent || rec.Attempts >= e.outbox.catalog.Retry.MaxAttempts {
		return feed.Dies
	}
	return feed.Retries
}

// park lets a record wait for targets that are down: as the one that probes
// for them, or out of memory, in Firestore.
func (r *Relay) park(tried feed.Tried) lanes.Verdict {
	e := entryOf(tried.Record)
	probe := lanes.Verdict{Action: lanes.Retry, At: r.now().Add(strayProbe)}
	for _, t := range tried.Blocked {
		if at := r.router.NextProbe(t, e.rec); probe.On == "" || at.Before(probe.At) {
			probe.At, probe.On = at, t
		}
	}
	if e.Origin != feed.Stray {
		r.forgive(e)
	}
	tried.Then, tried.Unsaved = feed.Parks, e.unwritten()
	parked := e.outbox.ledger.becomes(tried)
	for _, t := range tried.Blocked {
		if !r.router.Open(t) { // it answered while the record's other targets did not
			e.outbox.openTarget(t)
		}
	}
	switch parked.Do {
	case feed.Probe:
		return probe
	case feed.Again:
		return lanes.Verdict{Action: lanes.Again}
	case feed.Rest:
		return lanes.Verdict{Action: lanes.Retry, At: r.now().Add(rereadPause)}
	default:
		e.outbox.left(e, parked)
		return lanes.Verdict{Action: lanes.Drop}
	}
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
