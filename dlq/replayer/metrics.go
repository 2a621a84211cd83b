package replayer

import (
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
)

// Metrics are those of replays. Every label value is known from code, and stands
// at zero from the start.
type Metrics struct {
	rounds   *prometheus.CounterVec // tier, outcome
	running  *prometheus.GaugeVec   // tier
	failures *prometheus.CounterVec // tier
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

// NewMetrics registers the metrics with reg, unless that is nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		rounds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_dlq_replay_rounds_total", Help: "Rounds of replays of dead letters, by what became of them.",
		}, []string{"tier", "outcome"}),
		running:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "relay_dlq_replays_running", Help: "Replays at work."}, []string{"tier"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "relay_dlq_failures_total", Help: "Failed looks for due dead letters."}, []string{"tier"}),
	}
	for _, t := range contracts.Tiers() {
		m.running.WithLabelValues(string(t))
		m.failures.WithLabelValues(string(t))
		for _, f := range fates() {
			m.rounds.WithLabelValues(string(t), string(f))
		}
	}
	if reg != nil {
		reg.MustRegister(m.rounds, m.running, m.failures)
	}
	return m
}
