package dlq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// alerter publishes the alerts that domain-error-log holds and that
// domain-errors has not acknowledged, and then marks them. A crash between the
// two publishes an alert again.
type alerter struct {
	queue  *Queue
	alerts Alerts
	cfg    SiblingConfig
	bell   <-chan struct{}
	wake   chan struct{} // the bell, or a listener that heard of an alert of another instance
}

func newAlerter(q *Queue, alerts Alerts, cfg SiblingConfig) *alerter {
	return &alerter{queue: q, alerts: alerts, cfg: cfg, bell: q.Hear(BellAlerts), wake: make(chan struct{}, 1)}
}

const (
	// alertPage is the page size of the search for unpublished alerts.
	alertPage = 100
	// alertsAtOnce are published at the same time.
	alertsAtOnce = 16
)

// unpublished finds the alerts that wait.
var unpublished = Query{
	Collection: contracts.CollectionErrorLog, Where: []Where{{AlertFieldPublishedAt, "==", nil}},
	OrderBy: []Order{{Field: FieldID}}, Limit: alertPage,
}

func (a *alerter) run(ctx context.Context) error {
	return rounds(ctx, a.wake, a.cfg, "publish alerts", a.publishAll)
}

// listen wakes run, until ctx ends.
func (a *alerter) listen(ctx context.Context) error {
	query := unpublished
	query.Limit = watched
	return wakeOnBoth(ctx, a.queue.store, query, a.bell, a.wake, a.cfg)
}

// publishAll publishes every alert that waits. One that cannot be published
// does not hold up the others; when none of a page can, the rest waits.
func (a *alerter) publishAll(ctx context.Context) error {
	if !a.cfg.Leads() {
		return nil
	}
	query := unpublished
	var failed error
	for {
		c, cancel := context.WithTimeout(ctx, a.cfg.CallBound)
		page, err := a.queue.store.Query(c, query)
		cancel()
		if err != nil {
			return errors.Join(failed, fmt.Errorf("find alerts: %w", err))
		}
		var published atomic.Int64
		var g errgroup.Group
		g.SetLimit(alertsAtOnce)
		for _, d := range page {
			g.Go(func() error {
				return guarded(func() error {
					if err := a.publish(ctx, DecodeAlert(d)); err != nil {
						return err
					}
					published.Add(1)
					return nil
				})
			})
		}
		err = g.Wait()
		if panicked(err) {
			return err
		}
		failed = errors.Join(failed, err)
		if len(page) < query.Limit || published.Load() == 0 {
			return failed
		}
		query.StartAfter = []any{page[len(page)-1].ID}
	}
}

func (a *alerter) publish(ctx context.Context, alert *Alert) error {
	data, err := json.Marshal(messageOf(alert))
	if err != nil {
		return fmt.Errorf("encode alert %s: %w", alert.ID, err)
	}
	c, cancel := context.WithTimeout(ctx, a.cfg.CallBound)
	defer cancel()
	if err := a.alerts.Publish(c, data, alert.attributes()); err != nil {
		a.cfg.Metrics.alerts.WithLabelValues(outcomeFailed).Inc()
		return fmt.Errorf("publish alert %s: %w", alert.ID, err)
	}
	a.cfg.Metrics.alerts.WithLabelValues(outcomeDone).Inc()
	a.cfg.Log.Info("alert published", zap.String("alert", alert.ID), zap.String("deadLetter", alert.DeadLetter), zap.String("traceId", alert.TraceID))
	return a.mark(ctx, alert)
}

// mark notes that an alert was published. Refused, it was marked by somebody
// else, or is gone: both are fine.
func (a *alerter) mark(ctx context.Context, alert *Alert) error {
	ctx, stop := lingering(ctx, a.cfg.Grace)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallBound)
	defer cancel()
	_, err := a.queue.store.Commit(ctx, []Write{{
		Collection: contracts.CollectionErrorLog, ID: alert.ID, Op: OpUpdate, IfUnchangedSince: alert.UpdateTime,
		Fields: map[string]any{AlertFieldPublishedAt: ServerTime{}},
	}})
	if err != nil && !isRefused(err) {
		return fmt.Errorf("mark alert %s as published: %w", alert.ID, err)
	}
	return nil
}

// alertMessage is an alert as domain-errors carries it.
type alertMessage struct {
	ID          string    `json:"id"`
	Severity    string    `json:"severity"`
	DeadLetter  string    `json:"deadLetter"`
	At          time.Time `json:"at"`
	Tier        string    `json:"tier"`
	Reason      string    `json:"reason"`
	Outbox      string    `json:"outbox"`
	EventID     string    `json:"eventId"`
	EventType   string    `json:"eventType"`
	TraceID     string    `json:"traceId"`
	AggregateID string    `json:"aggregateId"`
	Frozen      bool      `json:"frozen"`
	LastError   string    `json:"lastError"`
}

func messageOf(a *Alert) alertMessage {
	return alertMessage{
		ID: a.ID, Severity: severitySecurity, DeadLetter: a.DeadLetter, At: a.At, Tier: string(a.Tier), Reason: string(a.Reason), Outbox: a.Outbox,
		EventID: a.EventID, EventType: a.EventType, TraceID: a.TraceID, AggregateID: a.AggregateID, Frozen: a.Frozen, LastError: a.LastError,
	}
}

// attributes are those of the alert's message. A record that breaks the
// contract may hold longer texts than Pub/Sub takes: the message has them whole.
func (a *Alert) attributes() map[string]string {
	attrs := map[string]string{
		"type": string(contracts.SecurityBlock), "aggregateId": a.AggregateID, "eventId": a.EventID, "traceId": a.TraceID,
		"deadLetter": a.DeadLetter, "outbox": a.Outbox, "reason": string(a.Reason),
	}
	for name, v := range attrs {
		if len(v) > contracts.MaxAttributeBytes {
			v = v[:contracts.MaxAttributeBytes]
		}
		attrs[name] = strings.ToValidUTF8(v, "")
	}
	return attrs
}
