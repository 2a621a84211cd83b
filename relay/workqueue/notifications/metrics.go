package notifications

import "github.com/prometheus/client_golang/prometheus"

// Metrics are those of a handler, beside the engine's of the queue, which count runs
// by their result.
type Metrics struct {
	written    prometheus.Counter
	latency    prometheus.Histogram
	recipients prometheus.Histogram
}

// NewMetrics makes a handler's metrics and registers them; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		written: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "notifications_written_total", Help: "Notifications written into bells.",
		}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "notifications_dispatch_seconds", Help: "From an event's creation to its end, by the server's clock.",
			Buckets: []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 1800, 7200},
		}),
		recipients: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "notifications_recipients", Help: "People that an event was for.", Buckets: []float64{0, 1, 2, 5, 10, 50, 100, 400, 1000, 5000, 20000},
		}),
	}
	if reg != nil {
		reg.MustRegister(m.written, m.latency, m.recipients)
	}
	return m
}
