package outbox

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
)

// Record is an event that was accepted, ready to be written.
type Record struct {
	Document       *firestore.DocumentRef
	EventID        string
	IdempotencyKey string
	TraceID        string

	fields map[string]any // without createdAt
	record *contracts.Record
	size   int // bytes, as Firestore counts
}

// Data returns what to create Document with: batch.Create(r.Document, r.Data()).
// Only Create is right: Set would turn a record that was delivered into a pending one.
func (r *Record) Data() map[string]any {
	data := maps.Clone(r.fields)
	data[contracts.FieldCreatedAt] = firestore.ServerTimestamp
	return data
}

// path returns OUTBOX/ID.
func (r *Record) path() string { return r.record.Path() }

// accept makes the record of an event, or names its faults.
func (a *Appender) accept(ctx context.Context, e *Event) (*Record, *InvalidEvent) {
	rejected := &InvalidEvent{Type: e.Type, Outbox: e.Outbox}
	var p plain
	payload := p.payload(e.Payload)
	rejected.Faults = sorted(p.faults)
	box, fault := outboxOf(a.catalog, e)
	if fault != nil {
		rejected.Faults = append(rejected.Faults, *fault)
		return nil, rejected
	}
	if payload == nil { // judge the rest; what is wrong with the payload is told already
		payload = map[string]any{}
	}
	rec, route := a.draft(ctx, e, box)
	rec.Payload = payload
	identify(rec, route, box)
	rejected.Outbox = rec.Outbox

	// The fields as the relay will read them, judged by its own check.
	fields := rec.ProducerFields()
	read, decoded := contracts.DecodeRecord(rec.Outbox, rec.ID, fields)
	checked := a.catalog.Check(read, decoded)
	for _, f := range checked.Faults {
		if len(p.faults) == 0 || !strings.HasPrefix(f.Field, contracts.FieldPayload) {
			rejected.Faults = append(rejected.Faults, f)
		}
	}
	limits, size := FirestoreFaults(rec.Outbox, rec.ID, fields)
	rejected.Faults = append(rejected.Faults, sorted(limits)...)
	if len(rejected.Faults) > 0 {
		return nil, rejected
	}
	delete(fields, contracts.FieldCreatedAt)
	return &Record{
		Document: a.client.Collection(rec.Outbox).Doc(rec.ID),
		EventID:  rec.EventID, IdempotencyKey: rec.IdempotencyKey, TraceID: rec.TraceID,
		fields: fields, record: rec, size: size,
	}, nil
}

// draft fills in all of a record but its payload and identity. box is nil for an
// outbox that the catalog does not declare, the route for an event that it does not.
func (a *Appender) draft(ctx context.Context, e *Event, box *contracts.Outbox) (*contracts.Record, *contracts.EventRoute) {
	now := time.Now().UTC().Truncate(precision)
	rec := &contracts.Record{
		Outbox: e.Outbox, EventID: e.EventID, EventType: e.Type, EventVersion: max(e.Version, 1),
		AggregateType: e.AggregateType, AggregateID: e.AggregateID, AggregateVersion: e.AggregateVersion,
		OccurredAt: e.OccurredAt.UTC().Truncate(precision), CreatedAt: now, // for the check: the server's takes its place
		Lane: contracts.StandardLane, Tier: contracts.ReviewRequired, Status: contracts.Pending,
	}
	if e.OccurredAt.IsZero() {
		rec.OccurredAt = now
	}
	var route *contracts.EventRoute
	if box != nil {
		rec.Outbox, rec.Producer = box.Name, box.Slice
		if route = box.Route(e.Type); route != nil && e.Version == 0 {
			rec.EventVersion = max(route.Version, 1)
		} else if route != nil {
			route = cmp.Or(box.RouteOf(e.Type, e.Version), route) // the check names a version that is not declared
		}
	}
	if route != nil {
		rec.Lane, rec.Tier = route.Lane, route.Tier
	}
	if e.Version < 0 {
		rec.EventVersion = e.Version
	}
	rec.TraceID, rec.Traceparent = traceOf(ctx)
	if e.TraceID != "" {
		rec.TraceID = e.TraceID
	}
	return rec, route
}

// identify gives a record that is filled in otherwise its aggregate, where the catalog
// says how to make it, shard, event ID, key and document ID. What a template lacks is
// left empty, and named by the check.
func identify(rec *contracts.Record, route *contracts.EventRoute, box *contracts.Outbox) {
	if route != nil && rec.AggregateID == "" {
		rec.AggregateID, _ = route.AggregateOf(rec)
	}
	if box != nil && box.Shards > 1 {
		rec.Shard = new(int64(contracts.ShardOf(rec.AggregateID, box.Shards)))
	}
	given := rec.EventID != ""
	if !given {
		rec.EventID = EventID(rec.Outbox, rec.EventType, rec.EventVersion, rec.AggregateID, rec.AggregateVersion)
	}
	if route != nil {
		rec.IdempotencyKey, _ = route.IdempotencyKey(rec)
	} else {
		rec.IdempotencyKey = contracts.IdempotencyKey(rec.EventID, rec.AggregateID, rec.AggregateVersion)
	}
	if !given && route != nil && !route.KeyNamesEvent() {
		rec.EventID = EventIDOfKey(rec.Outbox, rec.EventType, rec.EventVersion, rec.IdempotencyKey)
	}
	rec.ID = contracts.DocumentID(rec.IdempotencyKey)
}

// sorted puts faults that were found in the order of a map into one that is always
// the same.
func sorted(faults contracts.Faults) contracts.Faults {
	slices.SortFunc(faults, func(a, b contracts.Fault) int { return strings.Compare(a.String(), b.String()) })
	return faults
}
