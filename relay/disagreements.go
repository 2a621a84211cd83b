package relay

import (
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"outboxrelay/contracts"
)

// disagreements tells of an outbox's records whose own lane or tier is not the
// catalog's. Each is counted. While an event type moves to another lane that is
// every record, so of each field only a few are warned of; the others are told
// at debug. The map is only read once it is made.
type disagreements map[string]*rate.Sometimes

const (
	disagreementsFirst = 5 // warnings of a field before there is a pause
	disagreementsPause = 10 * time.Second
)

func newDisagreements() disagreements {
	d := make(disagreements)
	for _, field := range contracts.Disagreements() {
		d[field] = &rate.Sometimes{First: disagreementsFirst, Interval: disagreementsPause}
	}
	return d
}

func (o *outbox) disagree(rec *contracts.Record, fields []string) {
	for _, field := range fields {
		o.metrics.disagreements.WithLabelValues(o.spec.Name, field).Inc()
		tell := o.log.Debug
		o.disagreements[field].Do(func() { tell = o.log.Warn })
		tell("record and catalog disagree, the catalog wins", zap.String("field", field), zap.String("record", rec.ID), zap.String("traceId", rec.TraceID))
	}
}
