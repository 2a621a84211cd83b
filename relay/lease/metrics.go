package lease

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// event is what happened to a lease; a metric label.
type event string

const (
	eventTaken     event = "taken"
	eventRenewed   event = "renewed"
	eventLapsed    event = "lapsed"    // not renewed in time to be trusted
	eventRecovered event = "recovered" // renewed after it had lapsed
	eventLost      event = "lost"      // another has it
	eventReleased  event = "released"
	eventRefused   event = "refused" // a write lost its compare-and-set
)

func events() []event {
	return []event{eventTaken, eventRenewed, eventLapsed, eventRecovered, eventLost, eventReleased, eventRefused}
}

// metrics are a keeper's. Every label value is known from Config or from code,
// and stands at zero from the start.
type metrics struct {
	held     *prometheus.GaugeVec   // share
	since    *prometheus.GaugeVec   // share
	events   *prometheus.CounterVec // event
	renewals prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, shares []string) *metrics {
	m := &metrics{
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "relay_lease_held", Help: "1 for each share that this instance owns, by a lease that has not lapsed.",
		}, []string{"share"}),
		since: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "relay_lease_since_timestamp_seconds", Help: "When this instance took each share, by Firestore's clock; 0 for a share that it does not own.",
		}, []string{"share"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_lease_events_total", Help: "What happened to this instance's leases.",
		}, []string{"event"}),
		renewals: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "relay_lease_renewal_seconds", Help: "Duration of the commits that renew leases.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
	}
	for _, share := range shares {
		m.held.WithLabelValues(share)
		m.since.WithLabelValues(share)
	}
	for _, e := range events() {
		m.events.WithLabelValues(string(e))
	}
	if reg != nil {
		reg.MustRegister(m.held, m.since, m.events, m.renewals)
	}
	return m
}

func (m *metrics) count(e event) { m.events.WithLabelValues(string(e)).Inc() }

// hold notes that a share was taken at a time of the server's.
func (m *metrics) hold(share string, since time.Time) {
	m.held.WithLabelValues(share).Set(1)
	m.since.WithLabelValues(share).Set(float64(since.UnixMicro()) / 1e6)
}

// lapse notes that nothing of a share that is owned is begun for now, and recover that
// it is again.
func (m *metrics) lapse(share string) {
	m.held.WithLabelValues(share).Set(0)
	m.count(eventLapsed)
}

func (m *metrics) recover(share string) {
	m.held.WithLabelValues(share).Set(1)
	m.count(eventRecovered)
}

// leave notes that a share is owned no more.
func (m *metrics) leave(share string) {
	m.held.WithLabelValues(share).Set(0)
	m.since.WithLabelValues(share).Set(0)
}
