package dlq

import (
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
)

// Metrics are those of the dead-letter queue's siblings. Every label value is
// known from code, and stands at zero from the start.
type Metrics struct {
	rounds      *prometheus.CounterVec // tier, outcome
	running     *prometheus.GaugeVec   // tier
	failures    *prometheus.CounterVec // tier
	items       *prometheus.GaugeVec   // tier, state
	oldest      *prometheus.GaugeVec   // tier, state
	alerts      *prometheus.CounterVec // outcome
	releases    *prometheus.CounterVec // outcome
	released    prometheus.Counter
	bulkItems   *prometheus.CounterVec // outcome
	bulkEnds    *prometheus.CounterVec // state
	bulkRunning prometheus.Gauge
}

// fate is what became of one try to replay a dead letter; a metric label.
type fate string

const (
	fateDelivered fate = "delivered" // to every target
	fateFailed    fate = "failed"    // counted
	fateExhausted fate = "exhausted" // failed, and was the last by itself
	fateBlocked   fate = "blocked"   // by an outage: not counted
	fateBehind    fate = "behind"    // an older one comes first
	fateDropped   fate = "dropped"   // it is not any more what it was
	fateUnknown   fate = "unknown"   // nothing is known of it
)

func fates() []fate {
	return []fate{fateDelivered, fateFailed, fateExhausted, fateBlocked, fateBehind, fateDropped, fateUnknown}
}

// Outcomes of alerts and releases, as metric labels.
const (
	outcomeDone   = "done"
	outcomeFailed = "failed"
)

// NewMetrics registers the metrics with reg, unless that is nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		rounds:    counter("relay_dlq_replay_rounds_total", "Rounds of replays of dead letters, by what became of them.", "tier", "outcome"),
		running:   gauge("relay_dlq_replays_running", "Replays at work.", "tier"),
		failures:  counter("relay_dlq_failures_total", "Failed looks for due dead letters.", "tier"),
		items:     gauge("relay_dlq_items", "Open dead letters.", "tier", "state"),
		oldest:    gauge("relay_dlq_oldest_seconds", "Age of the oldest open dead letter; 0: there is none.", "tier", "state"),
		alerts:    counter("relay_dlq_alerts_total", "Alerts published, or tried in vain.", "outcome"),
		releases:  counter("relay_dlq_releases_total", "Releases of frozen aggregates finished, or tried in vain.", "outcome"),
		bulkItems: counter("relay_dlq_bulk_items_total", "Dead letters that bulk replays are through with.", "outcome"),
		bulkEnds:  counter("relay_dlq_bulk_ends_total", "Bulk replays that ended, by how.", "state"),
		released: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "relay_dlq_released_records_total", Help: "Held records turned back to pending by releases.",
		}),
		bulkRunning: prometheus.NewGauge(prometheus.GaugeOpts{Name: "relay_dlq_bulk_running", Help: "Bulk replays at work."}),
	}
	m.zero()
	if reg != nil {
		reg.MustRegister(m.rounds, m.running, m.failures, m.items, m.oldest, m.alerts, m.releases, m.released, m.bulkItems, m.bulkEnds, m.bulkRunning)
	}
	return m
}

func (m *Metrics) zero() {
	for _, t := range contracts.Tiers() {
		m.running.WithLabelValues(string(t))
		m.failures.WithLabelValues(string(t))
		for _, f := range fates() {
			m.rounds.WithLabelValues(string(t), string(f))
		}
	}
	for _, s := range openStates() {
		m.items.WithLabelValues(string(s.tier), string(s.state))
		m.oldest.WithLabelValues(string(s.tier), string(s.state))
	}
	for _, o := range []string{outcomeDone, outcomeFailed} {
		m.alerts.WithLabelValues(o)
		m.releases.WithLabelValues(o)
	}
	for _, p := range []pinState{pinDelivered, pinFailed, pinSkipped} {
		m.bulkItems.WithLabelValues(string(p))
	}
	for _, s := range []BulkState{BulkDone, BulkStopped, BulkCancelled} {
		m.bulkEnds.WithLabelValues(string(s))
	}
}

// openState is a state in which dead letters wait, and its tier.
type openState struct {
	tier  contracts.Tier
	state contracts.DeadState
}

func openStates() []openState {
	return []openState{
		{contracts.SafeAuto, contracts.DeadScheduled},
		{contracts.ReviewRequired, contracts.DeadAwaitingReview},
		{contracts.SecurityBlock, contracts.DeadBlocked},
		{contracts.SecurityBlock, contracts.DeadAuthorized},
	}
}
