package freezer

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
	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

// alerter publishes the alerts that domain-error-log holds and that
// domain-errors has not acknowledged, and then marks them. A crash between the
// two publishes an alert again.
type alerter struct {
	log    AlertLog
	alerts Alerts
	cfg    Config
	bell   <-chan struct{}
	wake   chan struct{} // the bell, or a listener that heard of an alert of another instance
}

func newAlerter(q Queue, alerts Alerts, cfg Config) *alerter {
	return &alerter{log: q, alerts: alerts, cfg: cfg, bell: q.Hear(dlq.BellAlerts), wake: make(chan struct{}, 1)}
}

const (
	// watched is how many of the alerts that wait a listener shows.
	watched = 20
	// alertsAtOnce are published at the same time.
	alertsAtOnce = 16
)

func (a *alerter) run(ctx context.Context) error {
	return sibling.Rounds(ctx, a.wake, a.cfg.Config, "publish alerts", a.publishAll)
}

// listen wakes run, until ctx ends.
func (a *alerter) listen(ctx context.Context) error {
	watch := func(ctx context.Context, heard func()) error { return a.log.WatchUnpublished(ctx, watched, heard) }
	return sibling.WakeOnBoth(ctx, a.cfg.Config, contracts.CollectionErrorLog, watch, a.bell, a.wake)
}

// publishAll publishes every alert that waits. One that cannot be published
// does not hold up the others; when none of a page can, the rest waits.
func (a *alerter) publishAll(ctx context.Context) error {
	if !a.cfg.Leads() {
		return nil
	}
	var failed error
	for after := ""; ; {
		c, cancel := context.WithTimeout(ctx, a.cfg.CallBound)
		page, next, err := a.log.Unpublished(c, after)
		cancel()
		if err != nil {
			return errors.Join(failed, err)
		}
		var published atomic.Int64
		var g errgroup.Group
		g.SetLimit(alertsAtOnce)
		for _, alert := range page {
			g.Go(func() error {
				return sibling.Guarded(func() error {
					if err := a.publish(ctx, alert); err != nil {
						return err
					}
					published.Add(1)
					return nil
				})
			})
		}
		err = g.Wait()
		if sibling.Panicked(err) {
			return err
		}
		failed = errors.Join(failed, err)
		if after = next; after == "" || published.Load() == 0 {
			return failed
		}
	}
}

func (a *alerter) publish(ctx context.Context, alert *dlq.Alert) error {
	data, err := json.Marshal(messageOf(alert))
	if err != nil {
		return fmt.Errorf("encode alert %s: %w", alert.ID, err)
	}
	c, cancel := context.WithTimeout(ctx, a.cfg.CallBound)
	defer cancel()
	if err := a.alerts.Publish(c, data, attributesOf(alert)); err != nil {
		a.cfg.Metrics.alerts.WithLabelValues(outcomeFailed).Inc()
		return fmt.Errorf("publish alert %s: %w", alert.ID, err)
	}
	a.cfg.Metrics.alerts.WithLabelValues(outcomeDone).Inc()
	a.cfg.Log.Info("alert published", zap.String("alert", alert.ID), zap.String("deadLetter", alert.DeadLetter), zap.String("traceId", alert.TraceID))
	return a.mark(ctx, alert)
}

// mark notes that an alert was published.
func (a *alerter) mark(ctx context.Context, alert *dlq.Alert) error {
	ctx, stop := sibling.Lingering(ctx, a.cfg.Grace)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallBound)
	defer cancel()
	return a.log.MarkPublished(ctx, alert)
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

func messageOf(a *dlq.Alert) alertMessage {
	return alertMessage{
		ID: a.ID, Severity: dlq.SeveritySecurity, DeadLetter: a.DeadLetter, At: a.At, Tier: string(a.Tier), Reason: string(a.Reason), Outbox: a.Outbox,
		EventID: a.EventID, EventType: a.EventType, TraceID: a.TraceID, AggregateID: a.AggregateID, Frozen: a.Frozen, LastError: a.LastError,
	}
}

// attributesOf are those of the alert's message. A record that breaks the
// contract may hold longer texts than Pub/Sub takes: the message has them whole.
func attributesOf(a *dlq.Alert) map[string]string {
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
