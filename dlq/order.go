package dlq

import (
	"context"
	"fmt"
	"strings"

	"outboxrelay/contracts"
)

// OrderNote says which records of the aggregate were delivered since, so that
// the replay comes after them.
type OrderNote struct {
	DeliveredSince int    // later versions that were delivered, up to a bound
	AtLeast        bool   // there may be more than that
	Message        string // the same in words
}

const (
	// maxDeliveredSince is how many delivered records of an aggregate are looked at
	// when a replay is asked for, and maxDeliveredSeen by who only looks.
	maxDeliveredSince = 200
	maxDeliveredSeen  = DefaultPage
)

// inTurn refuses a replay that would overtake an older dead letter.
func (q *Queue) inTurn(ctx context.Context, item *Item) error {
	older, err := q.Older(ctx, item)
	if err != nil || len(older) == 0 {
		return err
	}
	names := make([]string, len(older))
	for n, o := range older {
		names[n] = fmt.Sprintf("%s (version %d, %s)", o.ID, o.AggregateVersion, o.State)
	}
	return &Refusal{
		Kind: Conflict, Detail: fmt.Sprintf("an older dead letter of aggregate %s comes first: %s", item.AggregateID, strings.Join(names, ", ")),
		Hint: "replay or discard the older one first", Brief: "an older dead letter of their aggregate comes first, which may be outside of the selection",
	}
}

// Order says what a replay of item, asked for at this moment, would do to the order of its
// aggregate.
func (q *Queue) Order(ctx context.Context, item *Item) (*OrderNote, error) {
	return q.orderNote(ctx, item, maxDeliveredSeen)
}

// orderNote looks at what of the aggregate was delivered meanwhile: at most limit
// records.
func (q *Queue) orderNote(ctx context.Context, item *Item, limit int) (*OrderNote, error) {
	if item.AggregateID == "" {
		return &OrderNote{Message: "it has no aggregate: there is no order to keep"}, nil
	}
	note, deleted := &OrderNote{}, false
	spec := q.catalog.Outbox(item.Outbox)
	if spec != nil {
		deleted = spec.OnDelivered == contracts.DeleteDelivered
		docs, err := q.store.Query(ctx, deliveredQuery(item, limit))
		if err != nil {
			return nil, fmt.Errorf("find later records of the aggregate: %w", err)
		}
		for _, d := range docs {
			if reading(d.Fields).integer(contracts.FieldAggregateVersion) > item.AggregateVersion {
				note.DeliveredSince++
			}
		}
		note.AtLeast = len(docs) == limit || deleted && note.DeliveredSince > 0
	}
	switch {
	case spec == nil:
		note.Message = "whether a later version of the aggregate was delivered is not known: the catalog of the instance that was asked does not have this outbox"
	case note.DeliveredSince == 0 && deleted:
		note.Message = "whether a later version of the aggregate was delivered is not known: delivered records of this outbox are removed"
	case note.DeliveredSince == 0 && note.AtLeast:
		note.Message = fmt.Sprintf("whether a later version of the aggregate was delivered is not known: it has more than %d delivered records", limit-1)
	case note.DeliveredSince == 0:
		note.Message = "no later version of the aggregate is known to have been delivered: delivered records are kept for the retention only"
	case note.AtLeast:
		note.Message = fmt.Sprintf("at least %d of the later versions of the aggregate were delivered since: its targets see this one after them", note.DeliveredSince)
	case note.DeliveredSince == 1:
		note.Message = "one later version of the aggregate was delivered since: its targets see this one after it"
	default:
		note.Message = fmt.Sprintf("%d later versions of the aggregate were delivered since: its targets see this one after them", note.DeliveredSince)
	}
	return note, nil
}

func deliveredQuery(item *Item, limit int) Query {
	return Query{
		Collection: item.Outbox,
		Where: []Where{
			{contracts.FieldAggregateID, "==", item.AggregateID}, {contracts.FieldStatus, "==", string(contracts.Delivered)},
		},
		Select: []string{contracts.FieldAggregateVersion}, Limit: limit,
	}
}
