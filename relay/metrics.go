package relay

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Metrics are the relay's own. Every label value is known from the catalog or
// from code, and stands at zero from the start.
type Metrics struct {
	records       *prometheus.CounterVec   // outbox, lane
	pages         *prometheus.CounterVec   // outbox, lane
	readErrors    *prometheus.CounterVec   // outbox, lane
	reads         *prometheus.CounterVec   // outbox, by
	rebuilds      *prometheus.CounterVec   // outbox, listener, reason
	canary        *prometheus.HistogramVec // outbox, listener
	disagreements *prometheus.CounterVec   // outbox, field
	swept         *prometheus.CounterVec   // outbox, found
	sweepErrors   *prometheus.CounterVec   // outbox
	doubts        *prometheus.CounterVec   // outbox
	panics        *prometheus.CounterVec   // part
	settlements   *prometheus.CounterVec   // outbox, kind
	refusals      *prometheus.CounterVec   // kind
	commits       *prometheus.HistogramVec // lane, result
	commitRecords *prometheus.CounterVec   // lane
	deadLetters   *prometheus.CounterVec   // outbox, tier, reason
	replays       *prometheus.CounterVec   // outcome
	frozen        prometheus.Gauge
	thaws         prometheus.Counter
}

// newMetrics registers the metrics with reg, unless that is nil.
func newMetrics(reg prometheus.Registerer, c *contracts.Catalog) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		records:       counter("relay_records_total", "Records taken into memory.", "outbox", "lane"),
		pages:         counter("relay_pages_total", "Pages read while a lane was behind.", "outbox", "lane"),
		readErrors:    counter("relay_read_errors_total", "Failed reads of an outbox.", "outbox", "lane"),
		reads:         counter("relay_reads_total", "Documents read from an outbox, about as Firestore bills them; those that leave a listener's window are not known.", "outbox", "by"),
		rebuilds:      counter("relay_listener_rebuilds_total", "Listeners that ended and were rebuilt.", "outbox", "listener", "reason"),
		disagreements: counter("relay_catalog_disagreements_total", "Records whose lane or tier differs from the catalog's.", "outbox", "field"),
		swept:         counter("relay_sweep_found_total", "Records that the sweep found.", "outbox", "found"),
		sweepErrors:   counter("relay_sweep_errors_total", "Sweeps that failed.", "outbox"),
		doubts:        counter("relay_read_again_total", "Records that were read again before they were taken, as they may have been settled since.", "outbox"),
		panics:        counter("relay_panics_total", "Faults of the program that were contained, by the part that went on after them.", "part"),
		settlements:   counter("relay_settlements_total", "Record states written.", "outbox", "kind"),
		refusals:      counter("relay_settle_refusals_total", "Settlements that Firestore refused and that were resolved apart.", "kind"),
		commitRecords: counter("relay_commit_records_total", "Records in commits.", "lane"),
		deadLetters:   counter("relay_dead_letters_total", "Records dead-lettered.", "outbox", "tier", "reason"),
		replays:       counter("relay_replay_rounds_total", "Rounds of replay through the lanes, by what came of them.", "outcome"),
		frozen: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "relay_frozen_aggregates", Help: "Aggregates whose records are held, or not let go on yet.",
		}),
		thaws: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "relay_freezes_ended_total", Help: "Aggregates whose freeze ended, so that their records go on.",
		}),
		canary: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relay_canary_seconds", Help: "Round trip of a listener's canary.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"outbox", "listener"}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relay_commit_seconds", Help: "Duration of commits.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15},
		}, []string{"lane", "result"}),
	}
	m.zero(c)
	if reg != nil {
		reg.MustRegister(m.records, m.pages, m.readErrors, m.reads, m.rebuilds, m.canary, m.disagreements, m.swept, m.sweepErrors, m.doubts, m.panics,
			m.settlements, m.refusals, m.commits, m.commitRecords, m.deadLetters, m.replays, m.frozen, m.thaws)
	}
	return m
}

// Results of a commit, as metric labels.
const (
	commitDone    = "done"
	commitRefused = "refused"
	commitFailed  = "failed"
)

func (m *Metrics) zero(c *contracts.Catalog) {
	for _, l := range contracts.Lanes() {
		m.commitRecords.WithLabelValues(string(l))
		for _, r := range []string{commitDone, commitRefused, commitFailed} {
			m.commits.WithLabelValues(string(l), r)
		}
	}
	for _, part := range guardedParts() {
		m.panics.WithLabelValues(part)
	}
	for _, outcome := range replayOutcomes() {
		m.replays.WithLabelValues(outcome)
	}
	for _, k := range settleKinds() {
		m.refusals.WithLabelValues(string(k))
	}
	for _, o := range c.Outboxes {
		m.zeroOutbox(o)
	}
}

func (m *Metrics) zeroOutbox(o *contracts.Outbox) {
	for _, l := range contracts.Lanes() {
		m.records.WithLabelValues(o.Name, string(l))
	}
	for _, l := range o.Lanes() {
		m.pages.WithLabelValues(o.Name, string(l))
		m.readErrors.WithLabelValues(o.Name, string(l))
	}
	for _, by := range []string{readByListener, readByPage, readByCount} {
		m.reads.WithLabelValues(o.Name, by)
	}
	for _, l := range listenerNames(o.Shares()[0], o) {
		m.canary.WithLabelValues(o.Name, l)
		for _, reason := range []string{"silent", "panic", "recycled", "Unavailable"} {
			m.rebuilds.WithLabelValues(o.Name, l, reason)
		}
	}
	for _, field := range []string{"lane", "tier"} {
		m.disagreements.WithLabelValues(o.Name, field)
	}
	for _, found := range sweepFinds() {
		m.swept.WithLabelValues(o.Name, found)
	}
	m.sweepErrors.WithLabelValues(o.Name)
	m.doubts.WithLabelValues(o.Name)
	for _, k := range settleKinds() {
		m.settlements.WithLabelValues(o.Name, string(k))
	}
	for _, t := range contracts.Tiers() {
		for _, r := range contracts.Reasons() {
			m.deadLetters.WithLabelValues(o.Name, string(t), string(r))
		}
	}
}

func (m *Metrics) commit(lane contracts.Lane, records int, took time.Duration, err error) {
	result := commitDone
	switch {
	case err == nil:
		m.commitRecords.WithLabelValues(string(lane)).Add(float64(records))
	case dlq.IsRefused(err):
		result = commitRefused
	default:
		result = commitFailed
	}
	m.commits.WithLabelValues(string(lane), result).Observe(took.Seconds())
}

func (m *Metrics) settled(outbox string, k settleKind) {
	m.settlements.WithLabelValues(outbox, string(k)).Inc()
}
