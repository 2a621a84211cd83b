package workqueue

import "github.com/prometheus/client_golang/prometheus"

// Metrics are those of all queues of a process. Every label value is known from a
// vocabulary or from code.
type Metrics struct {
	claims   *prometheus.CounterVec   // queue, result
	outcomes *prometheus.CounterVec   // queue, outcome
	seconds  *prometheus.HistogramVec // queue
	latency  *prometheus.HistogramVec // queue
	found    *prometheus.CounterVec   // queue, by
	reads    *prometheus.CounterVec   // queue, by
	rebuilds *prometheus.CounterVec   // queue, reason
	errors   *prometheus.CounterVec   // queue, part
	panics   *prometheus.CounterVec   // queue, part
	waiting  *prometheus.GaugeVec     // queue
	oldest   *prometheus.GaugeVec     // queue
	overdue  *prometheus.GaugeVec     // queue
	stale    *prometheus.GaugeVec     // queue
	rounds   *prometheus.GaugeVec     // queue
}

// Ways of finding, as metric labels.
const (
	byListener = "listener"
	byRound    = "round"
)

// Results of a claim, as metric labels.
const (
	claimWon       = "won"
	claimReclaimed = "reclaimed"
	claimRefused   = "refused" // it is not as it was found
	claimFailed    = "failed"
)

// Outcomes that the engine itself brings about, as metric labels.
const (
	outcomeRetry    = "retry"
	outcomeReturned = "returned" // the claim was given back
	outcomeLost     = "lost"
)

// Parts that may fail and go on, as metric labels.
const (
	partListener = "listener"
	partRound    = "round"
	partClaim    = "claim"
	partHandler  = "handler"
	partSettle   = "settle"
)

// Reasons for which a listener is rebuilt, as metric labels.
const (
	rebuiltSilent   = "silent"
	rebuiltRecycled = "recycled"
	rebuiltEnded    = "ended"
)

func newMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"queue"})
	}
	m := &Metrics{
		claims:   counter("workqueue_claims_total", "Claims that were tried, by what came of them.", "queue", "result"),
		outcomes: counter("workqueue_outcomes_total", "Claims that ended, by what became of the document.", "queue", "outcome"),
		found:    counter("workqueue_found_total", "Documents that were put into the line.", "queue", "by"),
		reads:    counter("workqueue_reads_total", "Documents read to find work, about as Firestore bills them.", "queue", "by"),
		rebuilds: counter("workqueue_listener_rebuilds_total", "Listeners that ended and were rebuilt.", "queue", "reason"),
		errors:   counter("workqueue_errors_total", "Calls to Firestore that failed and are tried again.", "queue", "part"),
		panics:   counter("workqueue_panics_total", "Faults of the program that were contained.", "queue", "part"),
		waiting:  gauge("workqueue_waiting", "Documents that this instance knows of and that wait for a worker."),
		oldest:   gauge("workqueue_oldest_pending_seconds", "Age of the oldest document that was due when the last round found it; 0 without one."),
		overdue:  gauge("workqueue_overdue_seconds", "How long the pending document has been due that has been the longest, when the last round found it; 0 without one."),
		stale:    gauge("workqueue_stale_documents", "Documents that were processing though their lease had run out when the last round found them, a batch of each tenant at most."),
		rounds:   gauge("workqueue_last_round_timestamp_seconds", "When the last round through all open documents ended; before the first, when the queue began."),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "workqueue_handle_seconds", Help: "Duration of handling.", Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"queue"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "workqueue_latency_seconds", Help: "From a document's createdAt to the commit that closes it, by the server's clock.",
			Buckets: []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 1800, 7200},
		}, []string{"queue"}),
	}
	if reg != nil {
		reg.MustRegister(m.claims, m.outcomes, m.found, m.reads, m.rebuilds, m.errors, m.panics, m.waiting, m.oldest, m.overdue, m.stale, m.rounds, m.seconds, m.latency)
	}
	return m
}

// looked sets what a whole round has found.
func (m *queueMetrics) looked(r *roundLook) {
	m.oldest.Set(r.oldest.Seconds())
	m.overdue.Set(r.overdue.Seconds())
	m.stale.Set(float64(r.stale))
	m.rounds.SetToCurrentTime()
}

// queueMetrics are those of one queue.
type queueMetrics struct {
	claims, outcomes, found, reads, rebuilds, errors, panics *prometheus.CounterVec // by the label beside the queue
	waiting, oldest, overdue, stale, rounds                  prometheus.Gauge
	seconds, latency                                         prometheus.Observer
}

// queue returns a queue's metrics, each at zero.
func (m *Metrics) queue(v *Vocabulary) *queueMetrics {
	of := prometheus.Labels{"queue": v.Queue}
	zeroed := func(c *prometheus.CounterVec, words ...string) *prometheus.CounterVec {
		c = c.MustCurryWith(of)
		for _, w := range words {
			c.WithLabelValues(w)
		}
		return c
	}
	began := m.rounds.With(of)
	began.SetToCurrentTime()
	return &queueMetrics{
		claims:   zeroed(m.claims, claimWon, claimReclaimed, claimRefused, claimFailed),
		outcomes: zeroed(m.outcomes, append([]string{outcomeRetry, outcomeReturned, outcomeLost}, v.Outcomes...)...),
		found:    zeroed(m.found, byListener, byRound),
		reads:    zeroed(m.reads, byListener, byRound),
		rebuilds: zeroed(m.rebuilds, rebuiltSilent, rebuiltRecycled, rebuiltEnded),
		errors:   zeroed(m.errors, partListener, partRound, partClaim, partSettle),
		panics:   zeroed(m.panics, partListener, partRound, partClaim, partHandler, partSettle),
		waiting:  m.waiting.With(of), oldest: m.oldest.With(of), overdue: m.overdue.With(of), stale: m.stale.With(of), rounds: began,
		seconds: m.seconds.With(of), latency: m.latency.With(of),
	}
}
