package contracts

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Sample returns a sound record of one of o's event types, as its producer
// would append it at now: pending, never attempted, with a trace of its own.
// The same r gives the same record.
// A payload is made after one of its schema's examples. Without examples it passes
// the schemas of the default catalog; schemas of another may want more.
func (c *Catalog) Sample(r *rand.Rand, o *Outbox, aggregateID string, version int64, now time.Time) *Record {
	route := o.Events[r.IntN(len(o.Events))]
	return sampleOf(r, o, route, aggregateID, version, now)
}

func sampleOf(r *rand.Rand, o *Outbox, route *EventRoute, aggregateID string, version int64, now time.Time) *Record {
	traceID := randomHex(r, 16)
	eventType := sampleType(r, o, route)
	rec := &Record{
		Outbox:           o.Name,
		EventID:          randomUUID(r),
		EventType:        eventType,
		EventVersion:     max(route.Version, 1),
		AggregateType:    aggregateType(o),
		AggregateID:      aggregateID,
		AggregateVersion: version,
		TraceID:          traceID,
		Traceparent:      "00-" + traceID + "-" + randomHex(r, 8) + "-01",
		Producer:         o.Slice,
		Lane:             route.Lane,
		Tier:             route.Tier,
		OccurredAt:       now.UTC().Truncate(time.Microsecond),
		CreatedAt:        now.UTC().Truncate(time.Microsecond), // Firestore keeps microseconds
		Status:           Pending,
		Payload:          samplePayload(r, route, eventType, aggregateID, version, now.UTC().Truncate(time.Second)),
	}
	if o.Shards > 1 {
		rec.Shard = new(int64(ShardOf(aggregateID, o.Shards)))
	}
	rec.IdempotencyKey, _ = route.IdempotencyKey(rec) // an example that its own schema refuses is named by Check
	rec.ID = DocumentID(rec.IdempotencyKey)
	return rec
}

// SampleAggregate returns the ID of a sample aggregate of o: its name, or where
// o's payloads tell the aggregate, and may want a UUID for it, one made of the
// name.
func SampleAggregate(o *Outbox, name string) string {
	if !slices.ContainsFunc(o.Events, func(e *EventRoute) bool { return e.Aggregate != "" }) {
		return name
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return randomUUID(rand.New(rand.NewPCG(h.Sum64(), 0)))
}

// What may stand for the '*' of a pattern. The second list is for a pattern
// that has text of its own.
var (
	sampleNames   = []string{"WorkspaceRenamed", "WorkspaceArchived", "TaskCompleted", "DocumentUploaded", "MilestoneReached"}
	sampleEndings = []string{"ScheduleCancelled", "AssignmentReleased", "ProposalWithdrawn"}
)

// sampleType returns an event type that o sends along route.
func sampleType(r *rand.Rand, o *Outbox, route *EventRoute) string {
	if !isPattern(route.Type) {
		return route.Type
	}
	names := sampleEndings
	if route.Type == string(wildcard) {
		names = sampleNames
	}
	at := r.IntN(len(names))
	for i := range names {
		name := strings.ReplaceAll(route.Type, string(wildcard), names[(at+i)%len(names)])
		if o.RouteOf(name, max(route.Version, 1)) == route {
			return name
		}
	}
	// Every plausible name belongs to another route; one of no meaning will not.
	return strings.ReplaceAll(route.Type, string(wildcard), "Sample"+randomHex(r, 4))
}

// aggregateType guesses what the aggregates of o are from its slice's name.
func aggregateType(o *Outbox) string {
	words := strings.Fields(o.Slice)
	if len(words) == 0 {
		return ""
	}
	return strings.TrimPrefix(words[len(words)-1], "centralized-")
}

// randomUUID returns a version 4 UUID.
func randomUUID(r *rand.Rand) string {
	b := randomBytes(r, 16)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func randomHex(r *rand.Rand, bytes int) string { return hex.EncodeToString(randomBytes(r, bytes)) }

// randomBytes returns n bytes that are not all zero, which W3C forbids in a
// trace ID.
func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	b[0] |= 1
	return b
}
