package notifications

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/relay/firestore/readable"
	"outboxrelay/relay/workqueue"
)

// Stats are a tenant's figures of a time. They stand by the hour in
// notificationStats/{2006-01-02T15} (UTC), and every commit that makes one larger says so
// in itself, so that they are exact. A day is the sum of its hours.
type Stats struct {
	Begin                time.Time // of the hour or the day
	ProcessedEvents      int64     // came to their end as emitted
	DedupedEvents        int64     // of them, such as wrote nothing
	NotificationsWritten int64
	FailedEvents         int64
	// DispatchLatency is the sum, over the processed events, of the time from their creation
	// to their end.
	DispatchLatency time.Duration
}

// AverageDispatchLatency is the time from the creation of an event to its end, on average
// of those processed; zero if there were none.
func (s Stats) AverageDispatchLatency() time.Duration {
	if s.ProcessedEvents == 0 {
		return 0
	}
	return s.DispatchLatency / time.Duration(s.ProcessedEvents)
}

// Add returns the figures of both times, beginning with s's.
func (s Stats) Add(o Stats) Stats {
	s.ProcessedEvents += o.ProcessedEvents
	s.DedupedEvents += o.DedupedEvents
	s.NotificationsWritten += o.NotificationsWritten
	s.FailedEvents += o.FailedEvents
	s.DispatchLatency += o.DispatchLatency
	return s
}

// Fields of the figures.
const (
	fieldHour                 = "hour"
	fieldProcessedEvents      = "processedEvents"
	fieldDedupedEvents        = "dedupedEvents"
	fieldNotificationsWritten = "notificationsWritten"
	fieldFailedEvents         = "failedEvents"
	fieldDispatchLatencyMs    = "dispatchLatencyMs"
)

const hourID = "2006-01-02T15"

// addStats adds to the figures of the hour of now.
func addStats(batch *workqueue.Batch, client *firestore.Client, tenant Tenant, now time.Time, gain Stats) {
	hour := now.UTC().Truncate(time.Hour)
	fields := map[string]any{fieldHour: hour, fieldClientID: tenant.ClientID, fieldCondominiumID: tenant.CondominiumID}
	for name, n := range map[string]int64{
		fieldProcessedEvents: gain.ProcessedEvents, fieldDedupedEvents: gain.DedupedEvents, fieldNotificationsWritten: gain.NotificationsWritten,
		fieldFailedEvents: gain.FailedEvents, fieldDispatchLatencyMs: gain.DispatchLatency.Milliseconds(),
	} {
		if n != 0 {
			fields[name] = firestore.Increment(n)
		}
	}
	batch.Set(client.Doc(tenant.Path()+"/"+CollectionStats+"/"+hour.Format(hourID)), fields, firestore.MergeAll)
}

// Hours reads a tenant's figures of the hours that begin from a time on and before
// another, the oldest first. Hours in which nothing was done are left out.
func Hours(ctx context.Context, client *firestore.Client, tenant Tenant, from, before time.Time) ([]Stats, error) {
	docs, err := client.Collection(tenant.Path()+"/"+CollectionStats).
		Where(fieldHour, ">=", from).Where(fieldHour, "<", before).OrderBy(fieldHour, firestore.Asc).Documents(ctx).GetAll()
	if err != nil {
		return nil, fmt.Errorf("read the figures of %s: %w", tenant, err)
	}
	out := make([]Stats, 0, len(docs))
	for _, doc := range docs {
		data, _ := readable.Parts(doc, []string{
			fieldHour, fieldProcessedEvents, fieldDedupedEvents, fieldNotificationsWritten, fieldFailedEvents, fieldDispatchLatencyMs,
		})
		number := func(name string) int64 { n, _ := data[name].(int64); return n }
		hour, _ := data[fieldHour].(time.Time)
		out = append(out, Stats{
			Begin: hour.UTC(), ProcessedEvents: number(fieldProcessedEvents), DedupedEvents: number(fieldDedupedEvents),
			NotificationsWritten: number(fieldNotificationsWritten), FailedEvents: number(fieldFailedEvents),
			DispatchLatency: time.Duration(number(fieldDispatchLatencyMs)) * time.Millisecond,
		})
	}
	return out, nil
}

// Days sums hours, which are in order, to days of a time zone.
func Days(hours []Stats, zone *time.Location) (out []Stats) {
	for _, h := range hours {
		y, m, d := h.Begin.In(zone).Date()
		h.Begin = time.Date(y, m, d, 0, 0, 0, 0, zone)
		if last := len(out) - 1; last >= 0 && out[last].Begin.Equal(h.Begin) {
			out[last] = out[last].Add(h)
		} else {
			out = append(out, h)
		}
	}
	return out
}
