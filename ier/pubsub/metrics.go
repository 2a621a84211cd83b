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

// topicMetrics count what was handed to one topic.
type topicMetrics struct{ acked, failed, behind prometheus.Counter }

// topic creates a topic's series, so that they are there before its first message.
func (m *Metrics) topic(topic string) *topicMetrics {
	return &topicMetrics{
		acked:  m.published.WithLabelValues(topic, resultAcked),
		failed: m.published.WithLabelValues(topic, resultFailed),
		behind: m.published.WithLabelValues(topic, resultBehind),
	}
}

// count counts the answers of one call.
func (m *topicMetrics) count(errs []error) {
	var acked, failed, behind int
	for _, err := range errs {
		switch {
		case err == nil:
			acked++
		case errors.Is(err, ier.ErrBehind):
			behind++
		default:
			failed++
		}
	}
	m.acked.Add(float64(acked))
	m.failed.Add(float64(failed))
	m.behind.Add(float64(behind))
}
