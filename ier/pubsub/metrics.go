package pubsub

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/ier"
)

// Metrics are shared by the targets and the sampler of one process.
type Metrics struct {
	published *prometheus.CounterVec // topic, result
	split     *prometheus.CounterVec // topic
	samples   *prometheus.CounterVec // result
}

// Results of messages, as a label.
const (
	resultAcked  = "acked"
	resultFailed = "failed"
	resultBehind = "behind"
)

// Results of lag samples, as a label.
const (
	samplesPublished  = "published"
	samplesOverflowed = "overflowed" // the buffer was full
	samplesRefused    = "refused"    // the topic did not take them
)

// NewMetrics registers the package's metrics; a nil registerer registers none.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		published: counter("relay_pubsub_messages_total",
			"Messages handed to a topic by what came of them.", "topic", "result"),
		split: counter("relay_pubsub_split_batches_total",
			"Times a batch failed over one message and was split to find it.", "topic"),
		samples: counter("relay_lag_samples_total",
			"Lag samples by what came of them; all but published are lost.", "result"),
	}
	for _, result := range []string{samplesPublished, samplesOverflowed, samplesRefused} {
		m.samples.WithLabelValues(result)
	}
	if reg != nil {
		reg.MustRegister(m.published, m.split, m.samples)
	}
	return m
}

// topicAtZero creates a topic's series before its first message.
func (m *Metrics) topicAtZero(topic string) {
	for _, result := range []string{resultAcked, resultFailed, resultBehind} {
		m.published.WithLabelValues(topic, result)
	}
	m.split.WithLabelValues(topic)
}

// count counts the answers of one call.
func (m *Metrics) count(topic string, errs []error) {
	n := map[string]int{}
	for _, err := range errs {
		switch {
		case err == nil:
			n[resultAcked]++
		case errors.Is(err, ier.ErrBehind):
			n[resultBehind]++
		default:
			n[resultFailed]++
		}
	}
	for result, count := range n {
		m.published.WithLabelValues(topic, result).Add(float64(count))
	}
}
