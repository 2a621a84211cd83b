package bulk

import (
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/dlq"
)

// Metrics are those of bulk replays. Every label value is known from code, and
// stands at zero from the start.
type Metrics struct {
	items   *prometheus.CounterVec // outcome
	ends    *prometheus.CounterVec // state
	running prometheus.Gauge
}

// NewMetrics registers the metrics with reg, unless that is nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		items:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "relay_dlq_bulk_items_total", Help: "Dead letters that bulk replays are through with."}, []string{"outcome"}),
		ends:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "relay_dlq_bulk_ends_total", Help: "Bulk replays that ended, by how."}, []string{"state"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "relay_dlq_bulk_running", Help: "Bulk replays at work."}),
	}
	for _, p := range []pinState{pinDelivered, pinFailed, pinSkipped} {
		m.items.WithLabelValues(string(p))
	}
	for _, s := range []dlq.BulkState{dlq.BulkDone, dlq.BulkStopped, dlq.BulkCancelled} {
		m.ends.WithLabelValues(string(s))
	}
	if reg != nil {
		reg.MustRegister(m.items, m.ends, m.running)
	}
	return m
}
