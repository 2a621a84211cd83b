package ier

import (
	"time"

	"outboxrelay/contracts"
)

// LagSample is one attempt at one target: how long after its append the record
// got there, or failed to. All durations are milliseconds.
type LagSample struct {
	At        time.Time      `json:"at"` // end of the attempt
	Outbox    string         `json:"outbox"`
	Lane      contracts.Lane `json:"lane"`
	EventType string         `json:"eventType"`
	Target    string         `json:"target"`
	Attempt   int            `json:"attempt"`
	Outcome   string         `json:"outcome"`        // "acked", or the failure's kind
	Code      string         `json:"code,omitempty"` // the failure's code

	LagMs       int64 `json:"lagMs"` // createdAt to At
	FirestoreMs int64 `json:"firestoreMs"`
	LaneMs      int64 `json:"laneMs"`
	DeliveryMs  int64 `json:"deliveryMs"`
	BackoffMs   int64 `json:"backoffMs"`

	TraceID string `json:"traceId"`
	EventID string `json:"eventId"`
	// Replay marks an attempt to deliver a dead letter after all: its lag counts
	// the time that it lay there, which says nothing about the lane.
	Replay bool `json:"replay,omitempty"`
}

// Sampler takes every lag sample. Sample must neither block nor fail a
// delivery.
type Sampler interface {
	Sample(LagSample)
}

// OutcomeAcked is the outcome of an attempt that succeeded. A failed attempt's
// outcome is its kind.
const OutcomeAcked = "acked"

func outcomes() []string {
	return []string{OutcomeAcked, contracts.Attributable.String(), contracts.Permanent.String(), contracts.Outage.String()}
}

// sample reports one attempt that began at start and ended at end; failure is
// nil when it was acknowledged.
func (r *Router) sample(job *Job, target string, start, end time.Time, failure *TargetFailure) {
	outcome, code := OutcomeAcked, ""
	if failure != nil {
		outcome, code = failure.Kind.String(), failure.Code
	}
	delivery := max(0, end.Sub(start))
	// createdAt is the database's clock and end is ours: a skew between them
	// must not turn into a negative lag.
	lag := max(0, end.Sub(job.Record.CreatedAt))
	if job.Record.CreatedAt.IsZero() {
		lag = job.Waits.Firestore + job.Waits.Lane + job.Waits.Backoff + delivery
	}
	r.metrics.attempt(job, target, r.eventLabel(job.Record), outcome, lag, delivery)
	if r.cfg.Sampler == nil {
		return
	}
	r.cfg.Sampler.Sample(LagSample{
		At: end, Outbox: job.Record.Outbox, Lane: job.Lane, EventType: job.Record.EventType,
		Target: target, Attempt: job.Attempt, Outcome: outcome, Code: code,
		LagMs:       lag.Milliseconds(),
		FirestoreMs: job.Waits.Firestore.Milliseconds(),
		LaneMs:      job.Waits.Lane.Milliseconds(),
		DeliveryMs:  delivery.Milliseconds(),
		BackoffMs:   job.Waits.Backoff.Milliseconds(),
		TraceID:     job.Record.TraceID, EventID: job.Record.EventID,
		Replay: job.Replay != "",
	})
}

// otherEvents labels the event types that the catalog does not declare.
const otherEvents = "other"

// eventLabel is the catalog's name for the record's type: the type itself, or
// the pattern that it matches. Producers cannot widen that set.
func (r *Router) eventLabel(rec *contracts.Record) string {
	if r.cfg.Catalog == nil {
		return otherEvents
	}
	outbox := r.cfg.Catalog.Outbox(rec.Outbox)
	if outbox == nil {
		return otherEvents
	}
	route := outbox.Route(rec.EventType)
	if route == nil {
		return otherEvents
	}
	return route.Type
}
