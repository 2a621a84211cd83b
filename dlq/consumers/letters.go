package consumers

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	"outboxrelay/dlq"
)

// Letters implements inbox.DeadLetters on the dead-letter queue. Its methods may be called
// from any goroutine.
type Letters struct {
	store   dlq.Store
	catalog *contracts.Catalog
}

var _ inbox.DeadLetters = (*Letters)(nil)

// New makes Letters that write to store. catalog is the relay's, which says what outbox and
// tier an event has; nil: only its message does, and the tier is REVIEW_REQUIRED.
func New(store dlq.Store, catalog *contracts.Catalog) *Letters { return &Letters{store, catalog} }

const (
	// maxEnvelopeBytes is how much of a body is kept beside the fields that were read of it:
	// Firestore takes 1 MiB for both.
	maxEnvelopeBytes = 400_000
	// tries bounds the commits of one burial that met another's; the inbox comes again.
	tries = 5
)

// Bury implements inbox.DeadLetters.
func (l *Letters) Bury(ctx context.Context, d inbox.DeadLetter) error {
	whole := l.item(d, time.Now().UTC().Truncate(time.Microsecond))
	by := cutNothing
	item := cut(whole, by, d.Envelope)
	for ; by < cutBare && dlq.SizeOf(item.Fields()) > dlq.CutAbove; item = cut(whole, by, d.Envelope) {
		by++
	}
	for met := 0; ; {
		writes, err := l.writes(ctx, item)
		if err == nil && len(writes) > 0 {
			_, err = l.store.Commit(ctx, writes)
		}
		switch {
		case err == nil:
			return nil
		case dlq.RefusesDocument(err) && by < cutBare:
			by++
			item = cut(whole, by, d.Envelope)
		case dlq.IsRefused(err) && met < tries: // somebody changed it meanwhile
			met++
		default:
			return fmt.Errorf("bury event %s of consumer %s: %w", contracts.Clip(d.Record.EventID), d.Consumer, err)
		}
	}
}

// writes is one commit; nothing where the same stands there already.
func (l *Letters) writes(ctx context.Context, item *dlq.Item) ([]dlq.Write, error) {
	docs, err := l.store.Get(ctx, contracts.CollectionDeadLetters, item.ID)
	if err != nil {
		return nil, err
	}
	if !docs[0].Exists() {
		return item.Burial(false), nil
	}
	before := dlq.DecodeItem(docs[0])
	if otherEvent(before, item) {
		item.ID = dlq.ID(item.ID + "~" + eventOf(item))
		return l.writes(ctx, item)
	}
	if dlq.Open(before.State) && before.Replaying == nil || sameDeath(before, item) {
		return nil, nil
	}
	return again(before, item), nil
}

// otherEvent reports whether a dead letter that stands in an item's place is of an event with the same key.
func otherEvent(before, item *dlq.Item) bool {
	return eventOf(before) != eventOf(item)
}

// eventOf tells events apart: by their ID, and those that have none by the body of their message.
func eventOf(i *dlq.Item) string {
	if i.EventID != "" {
		return i.EventID
	}
	body, _ := i.Record[dlq.RecordFieldEnvelope].(string)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
}

// sameDeath reports whether the burial of an item is what stands there already.
func sameDeath(before, item *dlq.Item) bool {
	if len(before.Errors) == 0 || len(item.Errors) == 0 {
		return false
	}
	a, b := before.Errors[len(before.Errors)-1], item.Errors[len(item.Errors)-1]
	return a.At.Equal(b.At) && a.Code == b.Code && a.Attempt == b.Attempt
}

// again opens a dead letter that was replayed, and that its consumer could not handle
// either then. Its replays and decisions stay.
func again(before, item *dlq.Item) []dlq.Write {
	after := *item
	after.Errors = dlq.BoundErrors(slices.Concat(before.Errors, item.Errors))
	after.Attempts = before.Attempts + item.Attempts
	after.OriginalTier, after.Decisions, after.Replays, after.LastReplay = before.OriginalTier, before.Decisions, before.Replays, before.LastReplay
	group := dlq.GroupOf(&after)
	after.Group = group.ID
	return []dlq.Write{
		{Collection: contracts.CollectionDeadLetters, ID: after.ID, Op: dlq.OpSet, Fields: after.Fields(), IfUnchangedSince: before.UpdateTime},
		group.Write(),
	}
}

func (l *Letters) item(d inbox.DeadLetter, at time.Time) *dlq.Item {
	rec := *d.Record
	if l.catalog != nil && len(rec.Fields) > 0 {
		_ = l.catalog.CheckReceived(&rec) // which fills in what the catalog knows; the consumer told the faults
	}
	tier := contracts.ReviewRequired
	if rec.Tier == contracts.SecurityBlock {
		tier = contracts.SecurityBlock
	}
	id := rec.ID
	if id == "" {
		id = contracts.DocumentID(rec.IdempotencyKey)
	}
	id = strings.ToValidUTF8(id[:min(len(id), dlq.MaxIDBytes)], "")
	item := &dlq.Item{
		ID: dlq.ID(rec.IdempotencyKey + "@" + d.Consumer), Tier: tier, OriginalTier: tier, State: tier.FirstState(), Reason: d.Reason,
		Outbox: rec.Outbox, RecordPath: rec.Outbox + "/" + id, Record: recordOf(&rec, d.Envelope), EventID: rec.EventID, EventType: rec.EventType,
		TraceID: rec.TraceID, IdempotencyKey: rec.IdempotencyKey, AggregateID: rec.AggregateID, AggregateVersion: rec.AggregateVersion,
		Lane: rec.Lane, Consumer: d.Consumer, Errors: dlq.BoundErrors(d.Errors), Attempts: d.Attempts, DeadAt: at,
	}
	if d.Target != "" {
		item.PendingTargets = []string{d.Target}
	}
	_, sound := rec.Fields[contracts.FieldAggregateVersion].(int64)
	item.Versionless = !sound
	return item
}

// recordOf is what a dead letter keeps of its event: the fields that a replay is made of, and the
// body as it arrived.
func recordOf(rec *contracts.Record, envelope []byte) map[string]any {
	fields := make(map[string]any, len(rec.Fields)+1)
	for name, v := range rec.Fields {
		if v != nil {
			fields[name] = v
		}
	}
	if len(envelope) <= maxEnvelopeBytes || len(rec.Fields) == 0 {
		fields[dlq.RecordFieldEnvelope] = strings.ToValidUTF8(string(envelope[:min(len(envelope), maxEnvelopeBytes)]), "?")
	}
	return fields
}
