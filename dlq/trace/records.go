package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Record is a record as its outbox has it, without payload and fields. What it
// lacks is left zero.
type Record struct {
	*contracts.Record
	Versionless bool // it has no sound version
}

// decodeRecord reads a record of an outbox.
func decodeRecord(outbox string, d dlq.Doc) Record {
	rec, faults := contracts.DecodeRecord(outbox, d.ID, d.Fields)
	rec.Payload, rec.Fields = nil, nil
	return Record{rec, slices.ContainsFunc(faults, func(f contracts.Fault) bool { return f.Field == contracts.FieldAggregateVersion })}
}

// RecordFilter says which records to find: those of an event, or those of an
// aggregate.
type RecordFilter struct {
	EventID, AggregateID string // exactly one is set
}

// FoundRecords are the records that a RecordFilter selects.
type FoundRecords struct {
	Records []Record // the latest first
	// Truncated: an outbox has more than were read of it. Which ones are left out
	// has no order, as there is no index by time for this.
	Truncated bool
}

// maxFound bounds the records that are read of one outbox.
const maxFound = 50

// Records finds records in every outbox, whatever became of them. Delivered ones
// are there as long as their outbox keeps them.
func (f *Finder) Records(ctx context.Context, by RecordFilter) (*FoundRecords, error) {
	field, value := contracts.FieldEventID, by.EventID
	if value == "" {
		field, value = contracts.FieldAggregateID, by.AggregateID
	}
	if (by.EventID == "") == (by.AggregateID == "") {
		return nil, &dlq.Refusal{Kind: dlq.Invalid, Detail: "records are found by an event or by an aggregate", Hint: "give one of them"}
	}
	if faults := dlq.TextFaults(field, value); len(faults) > 0 {
		return nil, &dlq.Refusal{Kind: dlq.Invalid, Detail: strings.Join(faults, "; "), Hint: "correct it"}
	}
	out := &FoundRecords{}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(tracesAtOnce)
	for _, outbox := range f.outboxes {
		g.Go(func() error {
			docs, err := f.store.Query(gctx, dlq.Query{Collection: outbox, Where: []dlq.Where{{Field: field, Op: "==", Value: value}}, Select: recordFields, Limit: maxFound + 1})
			if err != nil {
				return fmt.Errorf("find records in %s: %w", outbox, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(docs) > maxFound {
				docs, out.Truncated = docs[:maxFound], true
			}
			for _, d := range docs {
				out.Records = append(out.Records, decodeRecord(outbox, d))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(out.Records, func(a, b Record) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.Path(), b.Path())
	})
	return out, nil
}
