package claims

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Outcomes of records that were carried out, as a label.
const (
	outcomeChanged   = "changed"   // the record changed the account's claims
	outcomeCompleted = "completed" // it changed nothing, and did what was left of an earlier one
	outcomeUnchanged = "unchanged" // there was nothing to do
)

// Steps of a record, as a label.
const (
	stepLookUp   = "look-up"
	stepRead     = "read"
	stepCommit   = "commit"
	stepSet      = "set"
	stepRevoke   = "revoke"
	stepAnnounce = "announce"
)

// Calls to Firebase Auth, as a label.
const (
	callLookUp = "look-up"
	callSet    = "set"
	callRevoke = "revoke"
)

// otherCode stands for the codes of ports, which are not known here.
const otherCode = "other"

// knownCodes are the codes that have a series of their own.
var knownCodes = []string{
	CodeMismatch, CodeMalformed, CodeBadAccount, CodeNothing, CodeReserved, CodeTooLarge, CodeUserNotFound, CodeContended, CodeRetryAfter, CodeRateLimited,
	"NoCredentials", "Unavailable", "DeadlineExceeded", "ResourceExhausted", "PermissionDenied", "Internal", otherCode,
}

type metrics struct {
	records  *prometheus.CounterVec   // outcome
	failures *prometheus.CounterVec   // code
	calls    *prometheus.CounterVec   // call, result
	step     *prometheus.HistogramVec // step
	signals  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		records:  counter("relay_claims_records_total", "Records whose claims stand, by what they changed.", "outcome"),
		failures: counter("relay_claims_failures_total", "Failed attempts to carry a record's claims out.", "code"),
		calls:    counter("relay_claims_auth_calls_total", "Calls to Firebase Auth.", "call", "result"),
		step: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relay_claims_step_seconds", Help: "Time of each step of a record, waits for the rate limit included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"step"}),
		signals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "relay_claims_signals_total", Help: "Signals published to token-refresh-signal.",
		}),
	}
	for _, outcome := range []string{outcomeChanged, outcomeCompleted, outcomeUnchanged} {
		m.records.WithLabelValues(outcome)
	}
	for _, code := range knownCodes {
		m.failures.WithLabelValues(code)
	}
	for _, call := range []string{callLookUp, callSet, callRevoke} {
		m.calls.WithLabelValues(call, resultOK)
		m.calls.WithLabelValues(call, resultFailed)
	}
	for _, step := range []string{stepLookUp, stepRead, stepCommit, stepSet, stepRevoke, stepAnnounce} {
		m.step.WithLabelValues(step)
	}
	if reg != nil {
		reg.MustRegister(m.records, m.failures, m.calls, m.step, m.signals)
	}
	return m
}

// Results of calls, as a label.
const (
	resultOK     = "ok"
	resultFailed = "failed"
)

func (m *metrics) call(name string, err error) {
	result := resultOK
	if err != nil {
		result = resultFailed
	}
	m.calls.WithLabelValues(name, result).Inc()
}

func (m *metrics) failed(code string) {
	if !slices.Contains(knownCodes, code) {
		code = otherCode
	}
	m.failures.WithLabelValues(code).Inc()
}
