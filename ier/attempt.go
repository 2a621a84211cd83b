package ier

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Codes of the failures that the router itself finds.
const (
	codeNoTarget = "NoTarget" // a job names a target that the router does not have
	codePanic    = "Panic"    // the target panicked
	codeNoAnswer = "NoAnswer" // the target broke its contract: not one error for each parcel
)

// attempt delivers one leg and fills in its results: one call of the target at
// most, and none while its breaker is open.
func (r *Router) attempt(ctx context.Context, run []*Job, l *leg) {
	target := r.cfg.Targets[l.target]
	if target == nil {
		// The catalog and the program disagree. That is no fault of the record,
		// so it waits as in an outage.
		err := &contracts.Failure{
			Kind: contracts.Outage, Code: codeNoTarget,
			Err: fmt.Errorf("find target %s: not configured", l.target),
		}
		r.record(run, l, make([]Parcel, len(l.jobs)), r.cfg.Now(), fill(len(l.jobs), err))
		return
	}
	if ctx.Err() != nil {
		l.results = allBlocked(len(l.jobs))
		return
	}
	done, ok := r.breakers[l.target].allow(suspectOf(run[l.jobs[0]].Record))
	if !ok {
		r.metrics.blocked.WithLabelValues(l.target).Add(float64(len(l.jobs)))
		l.results = allBlocked(len(l.jobs))
		return
	}
	told := false
	defer func() {
		if !told { // by a fault of ours: its probe must not be awaited for ever
			done(errCut)
		}
	}()
	parcels := make([]Parcel, len(l.jobs))
	for i, j := range l.jobs {
		job := run[j]
		parcels[i] = Parcel{
			Record:  job.Record,
			Message: contracts.NewMessage(job.Record, job.Data, job.Lane, l.target, job.Replay),
			Lane:    job.Lane,
		}
		if job.Consumer != "" {
			parcels[i].Message.Attributes[contracts.AttrConsumer] = job.Consumer
		}
	}
	start := r.cfg.Now()
	for i, j := range l.jobs {
		r.trace(ctx, run[j], &parcels[i], l.target, start)
	}
	errs := r.call(ctx, target, l.target, parcels)
	r.record(run, l, parcels, start, errs)
	// Last, so that a subscriber that is told of a change finds all results of
	// this call sampled already.
	told = true
	done(verdict(ctx, run[l.jobs[0]], l.target, start, errs))
}

// call is target.Deliver, made safe against a target that breaks its contract.
func (r *Router) call(ctx context.Context, target Target, name string, parcels []Parcel) (errs []error) {
	defer func() {
		if p := recover(); p != nil {
			r.cfg.Log.Error("target panicked", zap.String("target", name),
				zap.String("traceId", parcels[0].Record.TraceID),
				zap.String("panic", contracts.PanicText(p)), zap.ByteString("stack", debug.Stack()))
			errs = fill(len(parcels), &contracts.Failure{
				Kind: contracts.Attributable, Code: codePanic,
				Err: fmt.Errorf("call target %s: panic: %s", name, contracts.PanicText(p)),
			})
		}
	}()
	errs = target.Deliver(ctx, parcels)
	if len(errs) != len(parcels) {
		return fill(len(parcels), &contracts.Failure{
			Kind: contracts.Attributable, Code: codeNoAnswer,
			Err: fmt.Errorf("call target %s: %d answers for %d records", name, len(errs), len(parcels)),
		})
	}
	return errs
}

// fill is the answer of n parcels of which the first failed with err.
func fill(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = ErrBehind
	}
	errs[0] = err
	return errs
}

func allBlocked(n int) []result {
	results := make([]result, n)
	for i := range results {
		results[i].state = blocked
	}
	return results
}

// verdict is what a call says of its target: nil when the target answered,
// errCut when we gave up on it ourselves, a *suspect when it failed. What is a
// record's own failure is an answer.
func verdict(ctx context.Context, first *Job, target string, began time.Time, errs []error) error {
	s := &suspect{at: began, aggregate: suspectOf(first.Record), others: slices.Contains(first.Others, target)}
	answered := false
	for _, err := range errs {
		switch {
		case errors.Is(err, ErrBehind):
		case err == nil, contracts.OwnOf(err):
			answered = true
		case contracts.KindOf(err) == contracts.Outage:
			if ctx.Err() != nil {
				return errCut
			}
			s.outage, s.error = true, err
			return s
		default:
			s.error = err
		}
	}
	if s.error == nil || answered {
		return nil
	}
	if ctx.Err() != nil {
		return errCut
	}
	return s
}

// suspectOf names the aggregate of a call.
func suspectOf(r *contracts.Record) string { return r.Outbox + "\x00" + r.AggregateID }

// record fills in the leg's results and reports each attempt. Parcels that
// were behind were not attempted and are not reported.
func (r *Router) record(run []*Job, l *leg, parcels []Parcel, start time.Time, errs []error) {
	end := r.cfg.Now()
	l.results = make([]result, len(errs))
	for i, err := range errs {
		job := run[l.jobs[i]]
		res := &l.results[i]
		switch {
		case err == nil:
			res.state = acked
			r.sample(job, l.target, start, end, nil)
			parcels[i].endTrace(OutcomeAcked, nil, end)
		case errors.Is(err, ErrBehind):
			res.state = behind
			parcels[i].endTrace(outcomeBehind, nil, end)
		default:
			res.state = failed
			res.failure = TargetFailure{
				Target: l.target, Kind: contracts.KindOf(err), Code: contracts.CodeOf(err), Reason: contracts.ReasonOf(err),
				Message: contracts.Clip(contracts.MessageOf(err)), At: end,
			}
			r.sample(job, l.target, start, end, &res.failure)
			parcels[i].endTrace(res.failure.Kind.String(), &res.failure, end)
			r.logFailure(job, &res.failure)
		}
	}
}

// logFailure logs a record's failed attempt. An outage's are debug messages:
// while a target is out there is one for each waiting record, and the breaker
// has already said so.
func (r *Router) logFailure(job *Job, f *TargetFailure) {
	level := zap.WarnLevel
	if f.Kind == contracts.Outage {
		level = zap.DebugLevel
	}
	r.cfg.Log.Log(level, "delivery failed",
		zap.String("traceId", job.Record.TraceID), zap.String("eventId", job.Record.EventID),
		zap.String("outbox", job.Record.Outbox), zap.String("lane", string(job.Lane)),
		zap.String("target", f.Target), zap.Int("attempt", job.Attempt),
		zap.Stringer("kind", f.Kind), zap.String("code", f.Code), zap.String("error", f.Message), job.traceField())
}
