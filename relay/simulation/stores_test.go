package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay"
)

// relayStore is relay.Store over a wire.
type relayStore struct{ *wire }

var _ relay.Store = relayStore{}

// scanKinds name what the relay asks for.
var scanKinds = [...]string{
	relay.ScanLane: "a lane", relay.ScanStrays: "strays", relay.ScanRetrying: "those in backoff", relay.ScanUnordered: "unordered",
	relay.ScanEverything: "everything", relay.ScanWithStatus: "with a status", relay.ScanOddStatus: "odd states",
	relay.ScanUnsettled: "unsettled", relay.ScanNullStatus: "no state", relay.ScanAggregate: "an aggregate", relay.ScanHeld: "held",
	relay.ScanShardBelow: "shards below", relay.ScanShardAbove: "shards above",
}

func scanName(s relay.Scan) string {
	return fmt.Sprintf("%s %d %s %d %s", s.Outbox, s.Kind, s.Lane, s.Shard, s.Aggregate)
}

// Page implements relay.Store.
func (s relayStore) Page(ctx context.Context, scan relay.Scan) ([]relay.Doc, error) {
	var found []*document
	at, err := s.read(ctx, "page "+scanName(scan), func() time.Time {
		return s.world.db.read(scan.Outbox, func(docs map[string]*document) { found = scanned(docs, scan) })
	})
	if err != nil {
		return nil, err
	}
	s.billed("pages of "+scanKinds[scan.Kind], int64(max(1, len(found))))
	s.world.judge.showed(s.wire, "page", scan.Outbox, found)
	docs := relayDocs(found, at)
	for i := range docs {
		docs[i].Content = paged{docs[i], scan.Outbox}
	}
	return docs, nil
}

// Watch implements relay.Store.
func (s relayStore) Watch(ctx context.Context, scan relay.Scan) (relay.Stream, error) {
	f, err := s.flow(ctx, scan.Outbox, scanName(scan))
	if err != nil {
		return nil, err
	}
	s.world.judge.opened(scan)
	return &stream{flow: f, scan: scan, shown: make(map[string]time.Time)}, nil
}

// stream is relay.Stream.
type stream struct {
	*flow
	scan  relay.Scan
	shown map[string]time.Time // update times of the window's documents
}

// Next implements relay.Stream.
func (s *stream) Next() (relay.Snapshot, error) {
	var changed []*document
	var size int
	at, err := s.next(func() (time.Time, bool) {
		var window []*document
		at := s.wire.world.db.read(s.scan.Outbox, func(docs map[string]*document) { window = scanned(docs, s.scan) })
		now := make(map[string]time.Time, len(window))
		changed = nil
		gone := int64(len(s.shown))
		for _, d := range window {
			if was, shown := s.shown[d.id]; !shown || !was.Equal(d.updated) {
				changed = append(changed, d)
			}
			if _, shown := s.shown[d.id]; shown {
				gone--
			}
			now[d.id] = d.updated
		}
		s.shown, size = now, len(window)
		s.wire.billed("snapshots", int64(len(changed))+gone)
		return at, len(changed) > 0 || gone > 0
	})
	if err != nil {
		return relay.Snapshot{}, err
	}
	s.wire.world.judge.showed(s.wire, "snapshot", s.scan.Outbox, changed)
	return relay.Snapshot{Changed: relayDocs(changed, at), Size: size, ReadTime: at}, nil
}

// Count implements relay.Store.
func (s relayStore) Count(ctx context.Context, scans ...relay.Scan) ([]int64, error) {
	counts := make([]int64, len(scans))
	_, err := s.read(ctx, "count "+scanName(scans[0]), func() time.Time {
		return s.world.db.read(scans[0].Outbox, func(docs map[string]*document) {
			for i, scan := range scans {
				scan.Limit = 0
				scan.After, scan.AfterID = relay.Position{}, ""
				counts[i] = int64(len(scanned(docs, scan)))
			}
		})
	})
	s.billed("counts", int64(len(scans)))
	return counts, err
}

// Get implements relay.Store.
func (s relayStore) Get(ctx context.Context, outbox, id string) (relay.Doc, bool, error) {
	var found *document
	at, err := s.read(ctx, "get "+outbox+"/"+id, func() time.Time {
		return s.world.db.read(outbox, func(docs map[string]*document) { found = docs[id] })
	})
	if err != nil || found == nil {
		return relay.Doc{}, false, err
	}
	s.billed("gets", 1)
	s.world.judge.showed(s.wire, "get", outbox, []*document{found})
	return relayDoc(found, at), true, nil
}

// Commit implements relay.Store.
func (s relayStore) Commit(ctx context.Context, writes []relay.Write) ([]time.Time, error) {
	return s.commit(ctx, writes)
}

func relayDocs(docs []*document, at time.Time) []relay.Doc {
	out := make([]relay.Doc, len(docs))
	for i, d := range docs {
		out[i] = relayDoc(d, at)
	}
	return out
}

func relayDoc(d *document, at time.Time) relay.Doc {
	out := relay.Doc{ID: d.id, CreateTime: d.created, UpdateTime: d.updated, ReadTime: at, Content: listened(d.fields)}
	out.CreatedAt, _ = d.fields[contracts.FieldCreatedAt].(time.Time)
	out.Nonce, _ = d.fields[relay.FieldCanary].(string)
	return out
}

// listened is a document's content as a listener tells of it.
type listened map[string]any

func (l listened) Fields() map[string]any  { return copied(l) }
func (l listened) Raw() map[string]any     { return copied(l) }
func (l listened) Parts() map[string]any   { return copied(l) }
func (listened) Record() *contracts.Record { return nil }

// paged is a document's content as a page has it.
type paged struct {
	relay.Doc
	outbox string
}

func (p paged) Record() *contracts.Record { return plainRecord(p.outbox, p.Doc) }

// plainRecord is what a page of Firestore has of a plain record; nil: of no other.
func plainRecord(outbox string, d relay.Doc) *contracts.Record {
	rec, faults := contracts.DecodeRecord(outbox, d.ID, d.Fields())
	if len(faults) > 0 || rec.Status != contracts.Pending || rec.Attempts > 0 || len(rec.DeliveredTargets) > 0 || len(rec.AttemptErrors) > 0 {
		return nil
	}
	data, err := contracts.MarshalEnvelope(rec)
	if err != nil {
		return nil
	}
	var envelope contracts.Envelope
	if err := json.Unmarshal(data, &envelope); err != nil {
		return nil
	}
	rec.Payload, rec.PayloadJSON, rec.Fields = nil, string(envelope.Payload), nil
	return rec
}

// queueStore is dlq.Store, and that of the leases, over a wire.
type queueStore struct{ *wire }

var _ dlq.Store = queueStore{}

// Get implements dlq.Store.
func (s queueStore) Get(ctx context.Context, collection string, ids ...string) ([]dlq.Doc, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found := make([]*document, len(ids))
	at, err := s.read(ctx, "get "+collection+"/"+ids[0], func() time.Time {
		return s.world.db.read(collection, func(docs map[string]*document) {
			for i, id := range ids {
				found[i] = docs[id]
			}
		})
	})
	if err != nil {
		return nil, err
	}
	out := make([]dlq.Doc, len(ids))
	for i, d := range found {
		out[i] = dlq.Doc{ID: ids[i], ReadTime: at}
		if d != nil {
			out[i] = queueDoc(d, at)
		}
	}
	return out, nil
}

// Query implements dlq.Store.
func (s queueStore) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	var found []*document
	at, err := s.read(ctx, "query "+q.Collection, func() time.Time {
		return s.world.db.read(q.Collection, func(docs map[string]*document) { found = queried(docs, q) })
	})
	if err != nil {
		return nil, err
	}
	return queueDocs(found, at), nil
}

// Count implements dlq.Store.
func (s queueStore) Count(ctx context.Context, q dlq.Query) (int64, error) {
	counts, err := s.Counts(ctx, q)
	return counts[0], err
}

// Counts implements dlq.Store, for queries on one collection.
func (s queueStore) Counts(ctx context.Context, qs ...dlq.Query) ([]int64, error) {
	counts := make([]int64, len(qs))
	_, err := s.read(ctx, "count "+qs[0].Collection, func() time.Time {
		return s.world.db.read(qs[0].Collection, func(docs map[string]*document) {
			for i, q := range qs {
				counts[i] = int64(len(queried(docs, q)))
			}
		})
	})
	return counts, err
}

// Commit implements dlq.Store.
func (s queueStore) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	updated, err := s.commit(ctx, writes)
	return dlq.Latest(updated), err
}

// Watch implements dlq.Store.
func (s queueStore) Watch(ctx context.Context, q dlq.Query, f func([]dlq.Doc)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.flow(ctx, q.Collection, q.Collection)
	if err != nil {
		return err
	}
	q.Select = nil
	var shown []*document
	for {
		var found []*document
		at, err := stream.next(func() (time.Time, bool) {
			at := s.world.db.read(q.Collection, func(docs map[string]*document) { found = queried(docs, q) })
			news := !sameDocuments(shown, found)
			shown = found
			return at, news
		})
		if err != nil {
			return err
		}
		f(queueDocs(found, at))
	}
}

func sameDocuments(a, b []*document) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func queueDocs(docs []*document, at time.Time) []dlq.Doc {
	out := make([]dlq.Doc, len(docs))
	for i, d := range docs {
		out[i] = queueDoc(d, at)
	}
	return out
}

func queueDoc(d *document, at time.Time) dlq.Doc {
	return dlq.Doc{ID: d.id, Fields: copied(d.fields), CreateTime: d.created, UpdateTime: d.updated, ReadTime: at}
}
