package review

import (
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/dlq"
)

// Metrics are those of the whole queue. Every label value is known from code, and
// stands at zero from the start.
type Metrics struct {
	items  *prometheus.GaugeVec // tier, state
	oldest *prometheus.GaugeVec // tier, state
}

// NewMetrics registers the metrics with reg, unless that is nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	labels := []string{"tier", "state"}
	m := &Metrics{
		items:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "relay_dlq_items", Help: "Open dead letters."}, labels),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "relay_dlq_oldest_seconds", Help: "Age of the oldest open dead letter; 0: there is none."}, labels),
	}
	for _, s := range dlq.OpenStates() {
		m.show(s, 0, 0)
	}
	if reg != nil {
		reg.MustRegister(m.items, m.oldest)
	}
	return m
}

// show sets the gauges of a state.
func (m *Metrics) show(s dlq.OpenState, items int64, oldest float64) {
	m.items.WithLabelValues(string(s.Tier), string(s.State)).Set(float64(items))
	m.oldest.WithLabelValues(string(s.Tier), string(s.State)).Set(oldest)
}
