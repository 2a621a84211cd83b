package dlq

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"outboxrelay/contracts"
)

// maxOlder is how many older dead letters are named.
const maxOlder = 5

// Older returns the open dead letters that a replay of item must not overtake:
// those of its aggregate and outbox with a lower version, the lowest first, at
// most a few. Those of a consumer stand in the way of that consumer's alone. They
// come without their records.
func (q *Queue) Older(ctx context.Context, item *Item) ([]*Item, error) {
	return q.older(ctx, item, maxOlder)
}

// Before returns the first of the dead letters that Older tells of, for who asks
// whether there is any; nil: there is none.
func (q *Queue) Before(ctx context.Context, item *Item) (*Item, error) {
	older, err := q.older(ctx, item, 1)
	if err != nil || len(older) == 0 {
		return nil, err
	}
	return older[0], nil
}

// older mostly takes one query. Where other consumers' fill its answer there may be any
// number of these, and each replay would read all of them once more. So those that may
// stand behind them are sought apart: the same consumer's by its name, and the relay's
// own, which no query finds as they have no name, by counting.
func (q *Queue) older(ctx context.Context, item *Item, limit int) ([]*Item, error) {
	if item.AggregateID == "" {
		return nil, nil
	}
	for read := limit; ; read *= 4 {
		all, err := q.find(ctx, olderQuery(item), read)
		if err != nil {
			return nil, err
		}
		inWay := slices.DeleteFunc(slices.Clone(all), func(o *Item) bool { return !o.comesBefore(item) })
		if len(inWay) >= limit || len(all) < read {
			return inWay[:min(limit, len(inWay))], nil
		}
		if read > limit { // one of the relay's stands behind them, somewhere
			continue
		}
		relays := slices.DeleteFunc(inWay, func(o *Item) bool { return o.Consumer != "" })
		n, err := q.countRelays(ctx, item)
		if err != nil {
			return nil, err
		}
		if n <= int64(len(relays)) {
			return q.withConsumers(ctx, item, relays, limit)
		}
	}
}

// countRelays counts the older ones that are the relay's own: all but those of consumers.
func (q *Queue) countRelays(ctx context.Context, item *Item) (int64, error) {
	all, consumers := olderQuery(item), olderQuery(item)
	consumers.OrderBy = []Order{{contracts.DeadFieldConsumer, false}, consumers.OrderBy[0]} // which takes those alone that have one
	counts, err := q.store.Counts(ctx, all, consumers)
	if err != nil {
		return 0, fmt.Errorf("count older dead letters of the aggregate: %w", err)
	}
	return counts[0] - counts[1], nil
}

// withConsumers adds the older ones of the item's consumer to those of the relay.
func (q *Queue) withConsumers(ctx context.Context, item *Item, relays []*Item, limit int) ([]*Item, error) {
	if item.Consumer == "" {
		return relays, nil
	}
	query := olderQuery(item)
	query.Where = append(query.Where, Where{contracts.DeadFieldConsumer, "==", item.Consumer})
	own, err := q.find(ctx, query, limit)
	if err != nil {
		return nil, err
	}
	older := append(relays, own...)
	slices.SortStableFunc(older, func(a, b *Item) int { return cmp.Compare(a.AggregateVersion, b.AggregateVersion) })
	return older[:min(limit, len(older))], nil
}

func (q *Queue) find(ctx context.Context, query Query, limit int) ([]*Item, error) {
	query.Limit = limit
	docs, err := q.store.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("find older dead letters of the aggregate: %w", err)
	}
	return decodeItems(docs), nil
}

func olderQuery(item *Item) Query {
	return Query{
		Collection: contracts.CollectionDeadLetters,
		Where: []Where{
			{contracts.FieldAggregateID, "==", item.AggregateID},
			{contracts.DeadFieldOutbox, "==", item.Outbox},
			{contracts.DeadFieldOpen, "==", true},
			{contracts.FieldAggregateVersion, "<", item.AggregateVersion},
		},
		OrderBy: byVersion.OrderBy, Select: withoutRecord,
	}
}
