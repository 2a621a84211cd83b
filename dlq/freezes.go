package dlq

import (
	"context"

	"outboxrelay/contracts"
)

// Freezes reads one page of the freezes, in the order of their IDs.
func (q *Queue) Freezes(ctx context.Context, p Page) (Paged[*Freeze], error) {
	query := Query{Collection: contracts.CollectionFrozen, OrderBy: []Order{{FieldID, false}}}
	return page(ctx, q, "freezes", query, nil, p, DecodeFreeze)
}

// freezePage is how many freezes FreezesAfter and FreezesOf read at once.
const freezePage = 300

// FreezesAfter reads some freezes in the order of their document IDs, from behind one of
// these on. last is where to go on; empty: there are no more.
func (q *Queue) FreezesAfter(ctx context.Context, id string) (some []*Freeze, last string, err error) {
	query := Query{Collection: contracts.CollectionFrozen, OrderBy: []Order{{Field: FieldID}}, Limit: freezePage}
	if id != "" {
		query.StartAfter = []any{id}
	}
	page, err := q.store.Query(ctx, query)
	if err != nil {
		return nil, "", err
	}
	if len(page) == query.Limit {
		last = page[len(page)-1].ID
	}
	return decodeFreezes(page), last, nil
}

// FreezesOf reads the freezes of aggregates, as they stand now. One that is not
// frozen is left out.
func (q *Queue) FreezesOf(ctx context.Context, aggregateIDs ...string) ([]*Freeze, error) {
	var found []*Freeze
	for len(aggregateIDs) > 0 {
		n := min(freezePage, len(aggregateIDs))
		ids := make([]string, n)
		for i, a := range aggregateIDs[:n] {
			ids[i] = FreezeID(a)
		}
		docs, err := q.store.Get(ctx, contracts.CollectionFrozen, ids...)
		if err != nil {
			return nil, err
		}
		found = append(found, decodeFreezes(docs)...)
		aggregateIDs = aggregateIDs[n:]
	}
	return found, nil
}

// WatchFreezes calls f with all freezes, now and after each change, until ctx
// ends or the listener fails. It always returns an error. A freeze that did not change
// is the same one each time: with thousands of them most are not decoded again.
func (q *Queue) WatchFreezes(ctx context.Context, f func([]*Freeze)) error {
	before := make(map[string]*Freeze) // by document ID
	return q.store.Watch(ctx, Query{Collection: contracts.CollectionFrozen}, func(docs []Doc) {
		all, now := make([]*Freeze, 0, len(docs)), make(map[string]*Freeze, len(docs))
		for _, d := range docs {
			freeze := before[d.ID]
			if freeze == nil || !freeze.UpdateTime.Equal(d.UpdateTime) {
				freeze = DecodeFreeze(d)
			}
			if now[d.ID] = freeze; freeze.AggregateID != "" {
				all = append(all, freeze)
			}
		}
		before = now
		f(all)
	})
}

// Fence is the write that lets a commit succeed only while the freeze stands as
// it was read. It changes nothing.
func (f *Freeze) Fence() Write {
	return Write{
		Collection: contracts.CollectionFrozen, ID: FreezeID(f.AggregateID), Op: OpUpdate,
		Fields: map[string]any{FreezeFieldState: string(f.State)}, IfUnchangedSince: f.UpdateTime,
	}
}

// decodeFreezes decodes those documents that exist and name their aggregate.
func decodeFreezes(docs []Doc) []*Freeze {
	out := make([]*Freeze, 0, len(docs))
	for _, d := range docs {
		if f := DecodeFreeze(d); d.Exists() && f.AggregateID != "" {
			out = append(out, f)
		}
	}
	return out
}
