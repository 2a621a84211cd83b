package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"outboxrelay/contracts"
)

// condition is one equality of a filter: the field, and what the filter wants
// of it; nil when it does not say.
type condition[F any] struct {
	field string
	want  func(F) any
}

// unlessEmpty is a condition's value for a text that may be left out.
func unlessEmpty[S ~string](s S) any {
	if s == "" {
		return nil
	}
	return string(s)
}

// itemConditions is what a Filter compares for equality. Each has its indexes;
// see Indexes.
var itemConditions = []condition[Filter]{
	{contracts.FieldEventID, func(f Filter) any { return unlessEmpty(f.EventID) }},
	{contracts.FieldEventType, func(f Filter) any { return unlessEmpty(f.EventType) }},
	{contracts.FieldTraceID, func(f Filter) any { return unlessEmpty(f.TraceID) }},
	{contracts.FieldAggregateID, func(f Filter) any { return unlessEmpty(f.AggregateID) }},
	{contracts.DeadFieldTier, func(f Filter) any { return unlessEmpty(f.Tier) }},
	{contracts.DeadFieldState, func(f Filter) any { return unlessEmpty(f.State) }},
	{contracts.DeadFieldOutbox, func(f Filter) any { return unlessEmpty(f.Outbox) }},
	{contracts.FieldLane, func(f Filter) any { return unlessEmpty(f.Lane) }},
	{contracts.DeadFieldReason, func(f Filter) any { return unlessEmpty(f.Reason) }},
	{contracts.DeadFieldGroup, func(f Filter) any { return unlessEmpty(f.Group) }},
	{contracts.DeadFieldConsumer, func(f Filter) any { return unlessEmpty(f.Consumer) }},
	{contracts.DeadFieldOpen, func(f Filter) any {
		if f.Open == nil {
			return nil
		}
		return *f.Open
	}},
}

// conditionsOf renders a filter's equalities.
func conditionsOf[F any](all []condition[F], f F) []Where {
	var out []Where
	for _, c := range all {
		if v := c.want(f); v != nil {
			out = append(out, Where{c.field, "==", v})
		}
	}
	return out
}

// between renders the range of a time field: at or after from, before to. The
// start of time keeps out values that are no times, which have no place in a
// list by time.
func between(field string, from, to time.Time) []Where {
	if from.IsZero() {
		from = time.Unix(0, 0)
	}
	out := []Where{{field, ">=", from}}
	if !to.IsZero() {
		out = append(out, Where{field, "<", to})
	}
	return out
}

// where renders the filter.
func (f Filter) where() []Where {
	return append(conditionsOf(itemConditions, f), between(contracts.DeadFieldDeadAt, f.From, f.To)...)
}

// withoutRecord lists an item's fields but its record, which may be as large as
// a document can be.
var withoutRecord = func() []string {
	i := Item{
		NextReplayAt: time.Unix(0, 0), RecordTrimmed: true, Replaying: &Request{}, LastReplay: &Ended{}, AuthorizedBy: "somebody", Consumer: "one",
	}
	var names []string
	for name := range i.Fields() {
		if name != contracts.DeadFieldRecord {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}()

// ItemFields lists the fields of a dead letter's document but its record. The
// list is the caller's.
func ItemFields() []string { return slices.Clone(withoutRecord) }

// List reads one page of the dead letters that f selects, the latest first.
// They come without their records. A page goes on where the one before ended,
// whatever arrived or was decided meanwhile.
func (q *Queue) List(ctx context.Context, f Filter, p Page) (Paged[*Item], error) {
	if err := f.check(); err != nil {
		return Paged[*Item]{}, err
	}
	query := Query{Collection: contracts.CollectionDeadLetters, Where: f.where(), OrderBy: latestDead, Select: withoutRecord}
	return page(ctx, q, "dead letters", query, f.anytime(), p, DecodeItem)
}

// page reads one page of a query that is ordered by a time and the document ID,
// or by the ID alone. what names the list and filter narrows it, but for a range of
// time: both are part of its tokens.
func page[T any](ctx context.Context, q *Queue, what string, query Query, filter any, p Page, decode func(Doc) T) (Paged[T], error) {
	limit, after, err := p.open(what, filter, query)
	if err != nil {
		return Paged[T]{}, err
	}
	query.StartAfter, query.Limit = after, limit+1 // one more tells whether there is more
	docs, err := q.store.Query(ctx, query)
	if err != nil {
		return Paged[T]{}, fmt.Errorf("list %s: %w", what, err)
	}
	var out Paged[T]
	if len(docs) > limit {
		docs = docs[:limit]
		out.Next = token(what, filter, positionOf(docs[limit-1], query))
	}
	out.Items = make([]T, len(docs))
	for n, d := range docs {
		out.Items[n] = decode(d)
	}
	return out, nil
}

func decodeItems(docs []Doc) []*Item {
	items := make([]*Item, len(docs))
	for n, d := range docs {
		items[n] = DecodeItem(d)
	}
	return items
}
