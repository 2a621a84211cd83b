package admin

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// unmatched is the route of requests that match none.
const unmatched = "unmatched"

// metrics are the API's.
type metrics struct {
	requests *prometheus.CounterVec   // route, method, class
	duration *prometheus.HistogramVec // route, method
}

// newMetrics makes the series of every route, at zero.
func newMetrics(registerer prometheus.Registerer, routes map[string]*route) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relay_admin_requests_total", Help: "Requests to the admin API, by route, method and class of the status.",
		}, []string{"route", "method", "class"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relay_admin_request_seconds", Help: "How long requests to the admin API took.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15},
		}, []string{"route", "method"}),
	}
	for _, r := range routes {
		m.zero(r.path, r.method)
		if r.method == http.MethodGet {
			m.zero(r.path, http.MethodHead)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, methodLabel("")} {
		m.zero(unmatched, method)
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) zero(route, method string) {
	for _, class := range []string{"2xx", "4xx", "5xx"} {
		m.requests.WithLabelValues(route, method, class)
	}
	m.duration.WithLabelValues(route, method)
}

func (m *metrics) observe(c *call, status int, took time.Duration) {
	method := methodLabel(c.method)
	m.requests.WithLabelValues(c.path(), method, class(status)).Inc()
	m.duration.WithLabelValues(c.path(), method).Observe(took.Seconds())
}

func class(status int) string {
	switch {
	case status < 400:
		return "2xx"
	case status < 500:
		return "4xx"
	default:
		return "5xx"
	}
}

// methodLabel bounds the methods that callers may invent.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
		return method
	}
	return "other"
}
