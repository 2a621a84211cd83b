package publisher

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/relay/postgres"
)

// metrics are those that the router does not have, by the relay's names where it has them as well.
type metrics struct {
	records    prometheus.Counter
	readErrors prometheus.Counter
	committed  prometheus.Counter
	commits    *prometheus.HistogramVec // lane, result

	pending, parked, oldest prometheus.Gauge
}

// Results of a commit, as a label.
const (
	commitDone   = "done"
	commitFailed = "failed"
)

func newMetrics(reg prometheus.Registerer) *metrics {
	ofTable := prometheus.Labels{"outbox": postgres.Table}
	ofLane := prometheus.Labels{"outbox": postgres.Table, "lane": string(lane)}
	m := &metrics{
		records:    prometheus.NewCounter(prometheus.CounterOpts{Name: "relay_records_total", Help: "Records taken into memory.", ConstLabels: ofLane}),
		readErrors: prometheus.NewCounter(prometheus.CounterOpts{Name: "relay_read_errors_total", Help: "Rounds that the database failed.", ConstLabels: ofLane}),
		committed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "relay_commit_records_total", Help: "Records in commits.", ConstLabels: prometheus.Labels{"lane": string(lane)},
		}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relay_commit_seconds", Help: "Duration of the marks and their commit.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15},
		}, []string{"lane", "result"}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "relay_pending_records", Help: "Rows not published yet, at the last count; it ends at 100,000.", ConstLabels: ofTable,
		}),
		parked: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "relay_parked_records", Help: "Rows whose attempts are used up, at the last count, of the 100,000 oldest that are not published: each holds back its aggregate until it is retried.", ConstLabels: ofTable,
		}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "relay_oldest_waiting_seconds", Help: "Time since the oldest row was appended that is neither published nor parked, at the last count, of the 100,000 oldest that are not published; 0: none of these waits.", ConstLabels: ofLane,
		}),
	}
	for _, result := range []string{commitDone, commitFailed} {
		m.commits.WithLabelValues(string(lane), result)
	}
	if reg != nil {
		reg.MustRegister(m.records, m.readErrors, m.committed, m.commits, m.pending, m.parked, m.oldest)
	}
	return m
}

// tellWaiting has reg tell what waits for the topic while that is out, by the relay's name for it.
func tellWaiting(reg prometheus.Registerer, topic string, waiting func() float64) {
	if reg == nil {
		return
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "relay_target_waiting_records", ConstLabels: prometheus.Labels{"target": topic},
		Help: "Rows that wait for the topic while its breaker is open, at the last count, of the 100,000 oldest that are not published.",
	}, waiting))
}

func (m *metrics) failed() { m.readErrors.Inc() }

func (m *metrics) commit(rows int, took time.Duration, err error) {
	result := commitFailed
	if err == nil {
		result = commitDone
		m.committed.Add(float64(rows))
	}
	m.commits.WithLabelValues(string(lane), result).Observe(took.Seconds())
}
