package lanes

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
)

// Metrics is what the pools of a process tell Prometheus. Only the wait is
// measured as it happens; everything else is asked of the pools at a scrape. A
// lane without a pool reads zero. Two pools of one lane are not told apart: the
// later one is asked.
type Metrics struct {
	wait *prometheus.HistogramVec

	mu    sync.Mutex
	pools map[contracts.Lane]*Pool
}

// waitBuckets are seconds. They have an edge at each lane's default SLA (0.5, 2
// and 30) and enough below the first to tell a queue from its absence.
var waitBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60, 300}

var (
	tasksDesc    = laneDesc("tasks", "Tasks in the lane: queued, running, or waiting for a retry.", "state")
	overdueDesc  = laneDesc("overdue_tasks", "Tasks in the lane that are past its SLA now.")
	oldestDesc   = laneDesc("oldest_age_seconds", "Time since the oldest task in the lane was appended; 0 when there is none.")
	pausedDesc   = laneDesc("paused", "1 while the lane is paused by an operator.")
	doneDesc     = laneDesc("done_total", "Tasks acknowledged by every target.")
	breachesDesc = laneDesc("sla_breaches_total", "Tasks acknowledged later than the lane's SLA after their append.")
	faultsDesc   = laneDesc("handler_faults_total", "Runs whose handler panicked or answered wrongly.")
)

func laneDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("relay_lane_"+name, help, append([]string{"lane"}, labels...), nil)
}

// NewMetrics makes the lanes' metrics and registers them; nil: nowhere. It
// panics if reg has them already.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "relay_lane_wait_seconds",
			Help:    "Time a task was queued in its lane until it left, without backoff.",
			Buckets: waitBuckets,
		}, []string{"lane"}),
		pools: make(map[contracts.Lane]*Pool),
	}
	for _, lane := range contracts.Lanes() {
		m.wait.WithLabelValues(string(lane))
	}
	if reg != nil {
		reg.MustRegister(m)
	}
	return m
}

// attach has p asked at every scrape, and returns where it records its waits.
func (m *Metrics) attach(p *Pool) prometheus.Observer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pools[p.cfg.Lane] = p
	return m.wait.WithLabelValues(string(p.cfg.Lane))
}

// stats asks the pool of lane.
func (m *Metrics) stats(lane contracts.Lane) Stats {
	m.mu.Lock()
	p := m.pools[lane]
	m.mu.Unlock()
	if p == nil {
		return Stats{}
	}
	return p.Stats()
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.wait.Describe(ch)
	for _, d := range []*prometheus.Desc{
		tasksDesc, overdueDesc, oldestDesc, pausedDesc, doneDesc, breachesDesc, faultsDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.wait.Collect(ch)
	for _, lane := range contracts.Lanes() {
		s, name := m.stats(lane), string(lane)
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{name}, labels...)...)
		}
		counter := func(d *prometheus.Desc, v int64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), name)
		}
		gauge(tasksDesc, float64(s.Queued), "queued")
		gauge(tasksDesc, float64(s.Running), "running")
		gauge(tasksDesc, float64(s.Waiting), "waiting")
		gauge(overdueDesc, float64(s.Overdue))
		gauge(oldestDesc, s.age().Seconds())
		gauge(pausedDesc, s.pausedValue())
		counter(doneDesc, s.Delivered)
		counter(breachesDesc, s.Breaches)
		counter(faultsDesc, s.Faults)
	}
}

// age is that of the oldest task; 0 when there is none, or when its clock is
// ahead of ours.
func (s *Stats) age() time.Duration {
	if s.Oldest.IsZero() {
		return 0
	}
	return max(0, time.Since(s.Oldest))
}

func (s *Stats) pausedValue() float64 {
	if s.Paused {
		return 1
	}
	return 0
}
