package freezer

import "github.com/prometheus/client_golang/prometheus"

// Metrics are those of alerts and releases. Every label value is known from code,
// and stands at zero from the start.
type Metrics struct {
	alerts   *prometheus.CounterVec // outcome
	releases *prometheus.CounterVec // outcome
	released prometheus.Counter
}

// Outcomes of alerts and releases, as metric labels.
const (
	outcomeDone   = "done"
	outcomeFailed = "failed"
)

// NewMetrics registers the metrics with reg, unless that is nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	labels := []string{"outcome"}
	m := &Metrics{
		alerts:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "relay_dlq_alerts_total", Help: "Alerts published, or tried in vain."}, labels),
		releases: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "relay_dlq_releases_total", Help: "Releases of frozen aggregates finished, or tried in vain."}, labels),
		released: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "relay_dlq_released_records_total", Help: "Held records turned back to pending by releases.",
		}),
	}
	for _, o := range []string{outcomeDone, outcomeFailed} {
		m.alerts.WithLabelValues(o)
		m.releases.WithLabelValues(o)
	}
	if reg != nil {
		reg.MustRegister(m.alerts, m.releases, m.released)
	}
	return m
}
