package ier

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"

	"outboxrelay/contracts"
)

// lagBuckets run from 5 ms to 10 min. Each lane's SLA (0.5 s, 2 s, 30 s) is a
// boundary, so that the share of records within it can be read off exactly.
var lagBuckets = []float64{
	.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60, 120, 300, 600,
}

// replayBuckets run from 1 s to 30 days: a dead letter may wait for a person.
var replayBuckets = []float64{1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600, 30 * 24 * 3600}

type metrics struct {
	lag          *prometheus.HistogramVec // outbox, lane, target, outcome
	replayLag    *prometheus.HistogramVec // lane, outcome
	stage        *prometheus.HistogramVec // lane, stage
	attempts     *prometheus.CounterVec   // outbox, event_type, target, outcome
	blocked      *prometheus.CounterVec   // target
	breakerState *prometheus.GaugeVec     // target
	breakerTrips *prometheus.CounterVec   // target
}

// The stages of a record's lag.
const (
	stageFirestore = "firestore"
	stageLane      = "lane"
	stageDelivery  = "delivery"
	stageBackoff   = "backoff"
)

func newMetrics(cfg Config) *metrics {
	m := &metrics{
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "relay_lag_seconds",
			Help:    "Time from a record's append to the end of each delivery attempt.",
			Buckets: lagBuckets,
		}, []string{"outbox", "lane", "target", "outcome"}),
		replayLag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "relay_replay_lag_seconds",
			Help:    "Time from a record's append to the end of each attempt of a replay; these are not in relay_lag_seconds.",
			Buckets: replayBuckets,
		}, []string{"lane", "outcome"}),
		stage: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "relay_lag_stage_seconds",
			Help:    "The lag of each delivery attempt, told apart by where the time went.",
			Buckets: lagBuckets,
		}, []string{"lane", "stage"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_delivery_attempts_total",
			Help: "Delivery attempts by what came of them.",
		}, []string{"outbox", "event_type", "target", "outcome"}),
		blocked: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_delivery_blocked_total",
			Help: "Records kept from a target because its breaker was open.",
		}, []string{"target"}),
		breakerState: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "relay_breaker_state",
			Help: "State of a target's circuit breaker: 0 closed, 1 half-open, 2 open.",
		}, []string{"target"}),
		breakerTrips: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_breaker_trips_total",
			Help: "Times a target's circuit breaker left the closed state.",
		}, []string{"target"}),
	}
	m.startAtZero(cfg)
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(m.lag, m.replayLag, m.stage, m.attempts, m.blocked, m.breakerState, m.breakerTrips)
	}
	return m
}

// startAtZero creates every series that is known beforehand, so that a rate
// over the first event of its kind is not lost.
func (m *metrics) startAtZero(cfg Config) {
	for name := range cfg.Targets {
		m.blocked.WithLabelValues(name)
		m.setState(name, gobreaker.StateClosed)
		m.breakerTrips.WithLabelValues(name)
	}
	for _, lane := range contracts.Lanes() {
		for _, stage := range []string{stageFirestore, stageLane, stageDelivery, stageBackoff} {
			m.stage.WithLabelValues(string(lane), stage)
		}
		for _, outcome := range outcomes() {
			m.replayLag.WithLabelValues(string(lane), outcome)
		}
	}
	if cfg.Catalog == nil {
		return
	}
	for _, outbox := range cfg.Catalog.Outboxes {
		for _, event := range outbox.Events {
			for _, target := range event.Targets {
				for _, outcome := range outcomes() {
					m.lag.WithLabelValues(outbox.Name, string(event.Lane), target, outcome)
					m.attempts.WithLabelValues(outbox.Name, event.Type, target, outcome)
				}
			}
		}
	}
}

// attempt counts one attempt. A replay's lag and waits are kept out of the
// lane's figures.
func (m *metrics) attempt(job *Job, target, eventType, outcome string, lag, delivery time.Duration) {
	lane, outbox := string(job.Lane), job.Record.Outbox
	m.attempts.WithLabelValues(outbox, eventType, target, outcome).Inc()
	if job.Replay != "" {
		m.replayLag.WithLabelValues(lane, outcome).Observe(lag.Seconds())
		return
	}
	m.lag.WithLabelValues(outbox, lane, target, outcome).Observe(lag.Seconds())
	m.stage.WithLabelValues(lane, stageFirestore).Observe(job.Waits.Firestore.Seconds())
	m.stage.WithLabelValues(lane, stageLane).Observe(job.Waits.Lane.Seconds())
	m.stage.WithLabelValues(lane, stageDelivery).Observe(delivery.Seconds())
	m.stage.WithLabelValues(lane, stageBackoff).Observe(job.Waits.Backoff.Seconds())
}

func (m *metrics) setState(target string, state gobreaker.State) {
	var value float64
	switch state {
	case gobreaker.StateHalfOpen:
		value = 1
	case gobreaker.StateOpen:
		value = 2
	}
	m.breakerState.WithLabelValues(target).Set(value)
}
