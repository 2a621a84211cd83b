package outbox

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
)

// Appender appends events to the outboxes of a catalog. It is safe for use by many
// goroutines, and holds nothing that has to be closed.
type Appender struct {
	client  *firestore.Client
	catalog *contracts.Catalog
}

// New returns an Appender. client stays the caller's: it names the database, and is
// asked for nothing but by Compare. catalog is the one that the relay runs with; see
// contracts.LoadCatalog.
func New(client *firestore.Client, catalog *contracts.Catalog) *Appender {
	return &Appender{client, catalog}
}

// Result is what became of one event.
type Result struct {
	Document       *firestore.DocumentRef
	IdempotencyKey string
	// Repeated: the event was appended before, and nothing is written for it now.
	Repeated bool
	// EventID and TraceID are those of the record that stands in the outbox; of a
	// repeat, those of the first append.
	EventID, TraceID string
}

// Append appends events in tx, which must not have written yet, and returns what
// became of each, in their order. It holds if tx commits. An *InvalidError or a
// *CollisionError comes before anything is written, and is for all events together;
// any other error is Firestore's. Return the error from the transaction's function.
//
// Whoever finds that all events are repeats has done the whole of its work before,
// and returns without a write of its own.
func (a *Appender) Append(ctx context.Context, tx *firestore.Transaction, events ...Event) ([]Result, error) {
	p, err := a.Prepare(ctx, tx, events...)
	if err != nil {
		return nil, err
	}
	return p.Results(), p.Write(tx)
}

// Prepared are events that were accepted and looked up in a transaction, and are not
// written yet.
type Prepared struct {
	results []Result
	missing []*Record // to be created
}

// Prepare is the first half of Append, all that reads: tx must not have written yet.
// The second half is Prepared.Write.
func (a *Appender) Prepare(ctx context.Context, tx *firestore.Transaction, events ...Event) (*Prepared, error) {
	records, err := a.Records(ctx, events...)
	if err != nil {
		return nil, err
	}
	p := &Prepared{}
	p.results, err = a.look(records, tx.GetAll)
	if err != nil {
		return nil, err
	}
	given := make(map[string]bool, len(records))
	for i, r := range records {
		switch {
		case given[r.path()]: // the same event twice: the first is written
			p.results[i].Repeated = true
		case !p.results[i].Repeated:
			p.missing = append(p.missing, r)
		}
		given[r.path()] = true
	}
	return p, nil
}

// Results returns what becomes of each event, in the order given.
func (p *Prepared) Results() []Result { return p.results }

// Write creates the records of tx that are not there, in the order given. It is
// called once, in the attempt of the transaction in which they were prepared.
func (p *Prepared) Write(tx *firestore.Transaction) error {
	for _, r := range p.missing {
		if err := tx.Create(r.Document, r.Data()); err != nil {
			return fmt.Errorf("append %s: %w", r.path(), err)
		}
	}
	return nil
}

// Records checks events and returns a record for each, in their order, to be written
// by Create of a transaction, a batch or a BulkWriter. Nothing is read or written.
// The error is an *InvalidError with all faults of all events, or a *CollisionError
// where two of them claim the same key with different content. An event that is given
// twice has one record twice, of which only one can be created.
func (a *Appender) Records(ctx context.Context, events ...Event) ([]*Record, error) {
	records := make([]*Record, len(events))
	invalid := &InvalidError{Of: len(events)}
	size := 0
	for i := range events {
		record, rejected := a.accept(ctx, &events[i])
		if rejected != nil {
			rejected.Index = i
			invalid.Events = append(invalid.Events, *rejected)
			continue
		}
		records[i] = record
		if size += record.size + overheadEach; size > maxTransaction && size-record.size-overheadEach <= maxTransaction {
			invalid.Events = append(invalid.Events, InvalidEvent{Index: i, Type: events[i].Type, Outbox: record.record.Outbox, Faults: contracts.Faults{
				{Problem: fmt.Sprintf("makes the events together larger than the %d bytes of a commit", maxTransaction)},
			}})
		}
	}
	if len(invalid.Events) > 0 {
		return nil, invalid
	}
	return records, amongThemselves(records)
}

// amongThemselves finds records that claim the same document with other content.
func amongThemselves(records []*Record) error {
	if len(records) < 2 {
		return nil
	}
	first := make(map[string]*Record, len(records))
	collisions := &CollisionError{}
	for i, r := range records {
		earlier, there := first[r.path()]
		if !there {
			first[r.path()] = r
		} else if fields := differs(earlier.record, r.record); len(fields) > 0 {
			collisions.Collisions = append(collisions.Collisions, Collision{i, r.path(), fields})
		}
	}
	if len(collisions.Collisions) > 0 {
		return collisions
	}
	return nil
}

// Compare tells which of the records stand in their outboxes, for one read each. It
// is for after a commit that failed with AlreadyExists: what is Repeated was there
// before, or is there because that commit was applied and only its answer was lost.
// What is not Repeated is not there. A *CollisionError tells of all collisions.
func (a *Appender) Compare(ctx context.Context, records ...*Record) ([]Result, error) {
	return a.look(records, func(documents []*firestore.DocumentRef) ([]*firestore.DocumentSnapshot, error) {
		return a.client.GetAll(ctx, documents)
	})
}

// look reads each record's document once, and tells what stands there.
func (a *Appender) look(records []*Record, getAll func([]*firestore.DocumentRef) ([]*firestore.DocumentSnapshot, error)) ([]Result, error) {
	if len(records) == 0 {
		return nil, nil
	}
	var documents []*firestore.DocumentRef
	first := make(map[string]int, len(records))
	for _, r := range records {
		if _, there := first[r.path()]; !there {
			first[r.path()] = len(documents)
			documents = append(documents, r.Document)
		}
	}
	found, err := getAll(documents)
	if err != nil {
		return nil, fmt.Errorf("look for the records in their outbox: %w", err)
	}
	results, collisions := make([]Result, len(records)), &CollisionError{}
	for i, r := range records {
		result, different := outcome(r, found[first[r.path()]])
		if len(different) > 0 {
			collisions.Collisions = append(collisions.Collisions, Collision{i, r.path(), different})
		}
		results[i] = result
	}
	if len(collisions.Collisions) > 0 {
		return nil, collisions
	}
	return results, nil
}
