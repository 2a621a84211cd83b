package trace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Timeline is all that is known of a trace.
type Timeline struct {
	TraceID     string
	Events      []Event // oldest first
	Records     []Record
	DeadLetters []*dlq.Item   // without record
	Freezes     []*dlq.Freeze // of their aggregates, as they stand now
	Truncated   bool          // there is more than is shown
}

const (
	// maxTraced bounds the documents of one trace that are read of each source.
	maxTraced = 200
	// maxTracedAggregates bounds the aggregates whose freezes are looked for.
	maxTracedAggregates = 20
	// tracesAtOnce bounds the queries under way for one trace.
	tracesAtOnce = 8
)

// Trace collects all that is known of a trace: the records of every outbox,
// their dead letters and alerts, the freezes of their aggregates, and what was
// decided about any of these.
func (f *Finder) Trace(ctx context.Context, traceID string) (*Timeline, error) {
	if faults := dlq.TextFaults(contracts.FieldTraceID, traceID); traceID == "" || len(faults) > 0 {
		return nil, &dlq.Refusal{Kind: dlq.Invalid, Detail: "a trace ID is required: " + strings.Join(faults, "; ")}
	}
	t := &tracing{finder: f, traceID: traceID}
	if err := t.collect(ctx); err != nil {
		return nil, fmt.Errorf("trace %s: %w", traceID, err)
	}
	if t.empty() {
		return nil, &dlq.Refusal{
			Kind: dlq.NotFound, Detail: fmt.Sprintf("nothing is known of trace %q", traceID),
			Hint: "records that were delivered are deleted after the retention of their outbox",
		}
	}
	return t.timeline(), nil
}

// tracing collects what is known of one trace.
type tracing struct {
	finder  *Finder
	traceID string

	mu        sync.Mutex // guards all below while collecting
	truncated bool
	records   []tracedRecord
	letters   []tracedLetter
	alerts    []*dlq.Alert
	entries   map[string]*dlq.Entry // by ID: of the trace, and of its aggregates' freezes
	freezes   []*dlq.Freeze
}

// tracedRecord is a record as its outbox has it now.
type tracedRecord struct {
	Record
	doc dlq.Doc
}

// tracedLetter is a dead letter, and of its record what the outbox may not have
// any more.
type tracedLetter struct {
	*dlq.Item
	appended time.Time // zero: not known
}

// appendedAt is when the record of a dead letter was appended; zero: not known.
func appendedAt(d dlq.Doc) time.Time {
	record, _ := d.Fields[contracts.DeadFieldRecord].(map[string]any)
	at, _ := record[contracts.FieldCreatedAt].(time.Time)
	return at
}

func (t *tracing) empty() bool {
	return len(t.records)+len(t.letters)+len(t.alerts)+len(t.entries) == 0
}

// collect reads every source, first those that know the trace, then the freezes
// of the aggregates that these know.
func (t *tracing) collect(ctx context.Context) error {
	t.entries = make(map[string]*dlq.Entry)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(tracesAtOnce)
	for _, outbox := range t.finder.outboxes {
		t.read(gctx, g, t.query(outbox, recordFields), func(d dlq.Doc) {
			t.records = append(t.records, tracedRecord{decodeRecord(outbox, d), d})
		})
	}
	t.read(gctx, g, t.query(contracts.CollectionDeadLetters, letterFields), func(d dlq.Doc) {
		t.letters = append(t.letters, tracedLetter{dlq.DecodeItem(d), appendedAt(d)})
	})
	t.read(gctx, g, t.query(contracts.CollectionErrorLog, nil), func(d dlq.Doc) { t.alerts = append(t.alerts, dlq.DecodeAlert(d)) })
	t.read(gctx, g, t.query(contracts.CollectionAudit, nil), t.addEntry)
	if err := g.Wait(); err != nil {
		return err
	}
	return t.collectFreezes(ctx)
}

func (t *tracing) addEntry(d dlq.Doc) { t.entries[d.ID] = dlq.DecodeEntry(d) }

// collectFreezes reads how the trace's aggregates are frozen, and were.
func (t *tracing) collectFreezes(ctx context.Context) error {
	aggregates := t.aggregates()
	if len(aggregates) > maxTracedAggregates {
		aggregates, t.truncated = aggregates[:maxTracedAggregates], true
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(tracesAtOnce)
	for _, aggregate := range aggregates {
		t.read(gctx, g, freezeEntriesQuery(aggregate), t.addEntry)
	}
	g.Go(func() (err error) {
		t.freezes, err = t.finder.freezes.FreezesOf(gctx, aggregates...)
		return err
	})
	return g.Wait()
}

// aggregates lists the aggregates of the trace's records and dead letters.
func (t *tracing) aggregates() []string {
	found := make(map[string]bool)
	for _, r := range t.records {
		found[r.AggregateID] = true
	}
	for _, l := range t.letters {
		found[l.AggregateID] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// read hands each document of a query to take, one at a time.
func (t *tracing) read(ctx context.Context, g *errgroup.Group, query dlq.Query, take func(dlq.Doc)) {
	g.Go(func() error {
		docs, err := t.finder.store.Query(ctx, query)
		if err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(docs) > maxTraced {
			docs, t.truncated = docs[:maxTraced], true
		}
		for _, d := range docs {
			take(d)
		}
		return nil
	})
}

func (t *tracing) query(collection string, fields []string) dlq.Query {
	return dlq.Query{
		Collection: collection, Where: []dlq.Where{{Field: contracts.FieldTraceID, Op: "==", Value: t.traceID}}, Select: fields, Limit: maxTraced + 1,
	}
}

func freezeEntriesQuery(aggregateID string) dlq.Query {
	return dlq.Query{
		Collection: contracts.CollectionAudit, Limit: maxTraced + 1,
		Where: []dlq.Where{{Field: dlq.AuditFieldOn, Op: "==", Value: aggregateID}, {Field: dlq.AuditFieldSubject, Op: "==", Value: string(dlq.SubjectFreeze)}},
	}
}

var (
	// recordFields lists a record's fields but its payload.
	recordFields = []string{
		contracts.FieldEventID, contracts.FieldEventType, contracts.FieldEventVersion, contracts.FieldAggregateType, contracts.FieldAggregateID,
		contracts.FieldAggregateVersion, contracts.FieldShard, contracts.FieldIdempotencyKey, contracts.FieldTraceID, contracts.FieldTraceparent, contracts.FieldProducer,
		contracts.FieldLane, contracts.FieldTier, contracts.FieldOccurredAt, contracts.FieldCreatedAt, contracts.FieldStatus, contracts.FieldAttempts,
		contracts.FieldLastError, contracts.FieldNextAttemptAt, contracts.FieldDeliveredTargets, contracts.FieldDeliveredAt,
		contracts.FieldAttemptErrors,
	}
	letterFields = append(dlq.ItemFields(), contracts.DeadFieldRecord+"."+contracts.FieldCreatedAt)
)

// timeline renders what was collected.
func (t *tracing) timeline() *Timeline {
	out := &Timeline{TraceID: t.traceID, Events: t.events(), Freezes: t.freezes, Truncated: t.truncated}
	slices.SortFunc(t.records, func(a, b tracedRecord) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, r := range t.records {
		out.Records = append(out.Records, r.Record)
	}
	slices.SortFunc(t.letters, func(a, b tracedLetter) int { return a.DeadAt.Compare(b.DeadAt) })
	for _, l := range t.letters {
		l.Item.Record = nil
		out.DeadLetters = append(out.DeadLetters, l.Item)
	}
	return out
}
