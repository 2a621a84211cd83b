package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
	"outboxrelay/dlq"
	"outboxrelay/relay/lease/leasetest"
)

// evidence is all that a run left behind, for the judge.
type evidence struct {
	catalog *contracts.Catalog
	// pieces: the cloud may show a commit of several documents to a listener in
	// pieces, as Google's emulator does under load.
	pieces    bool
	records   []*record // appended, in the order of their append
	arrivals  []arrival // those of a topic in the order of their publish
	documents map[string]document
	letters   []letter
	freezes   map[string]freeze // by aggregate
	released  map[string]bool   // aggregates whose release the operator asked for
	leases    leasetest.Leases
	instances map[string]time.Duration // ages of the registrations that are not stopping
	takings   map[taking][]string      // owners that were seen, by the taking of a share
	episodes  []*episode
	ended     []string // what relays said that ended by themselves or badly
}

// document is an outbox document as it stands.
type document struct {
	status   contracts.Status
	attempts int64
	fields   map[string]any
}

// letter is a dead letter.
type letter struct {
	id, path  string // of its document, and of its record
	outbox    string
	aggregate string
	version   int64
	// versionless: the record had no sound version, so it has no place in a row.
	versionless bool
	tier, from  contracts.Tier // from: the original one
	state       contracts.DeadState
	reason      contracts.Reason
	attempts    int
	replays     int
	pending     []string // targets
	replaying   bool
	open        bool
	traceID     string
	key         string
}

// freeze is a frozen aggregate.
type freeze struct {
	state   dlq.FreezeState
	letters []string // IDs
}

// canaryMark starts the IDs of the relays' own documents in outboxes.
const canaryMark = '!'

// readEvidence reads what Firestore holds, past all proxies.
func (s *stage) readEvidence(ctx context.Context) (*evidence, error) {
	e := &evidence{
		catalog: s.catalog, pieces: s.opts.cloud == rig.CloudGoogle, documents: map[string]document{}, freezes: map[string]freeze{},
		arrivals: s.consumers.inOrder(), episodes: s.campaign.episodes, ended: append(s.fleet.endedThemselves(), s.badStops...),
	}
	for _, o := range s.catalog.Outboxes {
		err := s.each(ctx, o.Name, func(doc *firestore.DocumentSnapshot) {
			if !isCanary(doc.Ref) {
				e.documents[o.Name+"/"+doc.Ref.ID] = readDocument(doc.Data())
			}
		})
		if err != nil {
			return nil, err
		}
	}
	err := s.each(ctx, contracts.CollectionDeadLetters, func(doc *firestore.DocumentSnapshot) {
		e.letters = append(e.letters, readLetter(doc.Ref.ID, doc.Data()))
	})
	if err != nil {
		return nil, err
	}
	err = s.each(ctx, contracts.CollectionFrozen, func(doc *firestore.DocumentSnapshot) {
		f := dlq.DecodeFreeze(dlq.Doc{ID: doc.Ref.ID, Fields: doc.Data()})
		e.freezes[f.AggregateID] = freeze{f.State, f.DeadLetters}
	})
	if err != nil {
		return nil, err
	}
	e.records = s.truth.all(func(path string) bool { _, ok := e.documents[path]; return ok })
	s.operator.mu.Lock()
	e.released = maps.Clone(s.operator.released)
	s.operator.mu.Unlock()
	e.takings = s.leases.all()
	e.leases, e.instances, err = leasetest.Read(ctx, s.clients.Docs)
	return e, err
}

// each reads a collection.
func (s *stage) each(ctx context.Context, collection string, f func(*firestore.DocumentSnapshot)) error {
	docs := s.clients.Docs.Collection(collection).Documents(ctx)
	defer docs.Stop()
	for {
		doc, err := docs.Next()
		if errors.Is(err, iterator.Done) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", collection, err)
		}
		f(doc)
	}
}

func readDocument(fields map[string]any) document {
	d := document{fields: fields}
	status, _ := fields[contracts.FieldStatus].(string)
	d.status = contracts.Status(status)
	d.attempts, _ = fields[contracts.FieldAttempts].(int64)
	return d
}

func readLetter(id string, fields map[string]any) letter {
	i := dlq.DecodeItem(dlq.Doc{ID: id, Fields: fields})
	open, _ := fields[contracts.DeadFieldOpen].(bool)
	return letter{
		id: id, path: i.RecordPath, outbox: i.Outbox, aggregate: i.AggregateID, version: i.AggregateVersion, versionless: i.Versionless, tier: i.Tier, from: i.OriginalTier, state: i.State, reason: i.Reason,
		attempts: i.Attempts, replays: i.Replays, pending: i.PendingTargets, replaying: i.Replaying != nil, open: open,
		traceID: i.TraceID, key: i.IdempotencyKey,
	}
}
