package dlq

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// Held is how many records of one outbox a freeze holds.
type Held struct {
	Outbox  string
	Records int64
	AtLeast bool // there may be more
}

// maxHeldCounted bounds what is counted of one outbox: Firestore bills one read
// for each thousand.
const maxHeldCounted = 1000

// heldAtOnce bounds the counts under way for one aggregate.
const heldAtOnce = 16

// Held counts the records of an aggregate that are held in outboxes, see Outboxes, for
// each that has any, in their order. It costs two reads for each outbox at most.
func (q *Queue) Held(ctx context.Context, outboxes []string, aggregateID string) ([]Held, error) {
	counts := make([]Held, len(outboxes))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(heldAtOnce)
	for n, outbox := range outboxes {
		g.Go(func() error {
			return guarded(func() error {
				query := heldQuery(outbox, aggregateID)
				query.Limit = maxHeldCounted
				records, err := q.store.Count(ctx, query)
				if err != nil {
					return fmt.Errorf("count held records of %s: %w", outbox, err)
				}
				counts[n] = Held{outbox, records, records == maxHeldCounted}
				return nil
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []Held
	for _, c := range counts {
		if c.Records > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

// heldQuery finds the held records of an aggregate in one outbox.
func heldQuery(outbox, aggregateID string) Query {
	return Query{
		Collection: outbox,
		Where:      []Where{{contracts.FieldAggregateID, "==", aggregateID}, {contracts.FieldStatus, "==", string(contracts.Held)}},
	}
}

// Freeze reads the freeze of one aggregate.
func (q *Queue) Freeze(ctx context.Context, aggregateID string) (*Freeze, error) {
	doc, err := q.get(ctx, contracts.CollectionFrozen, FreezeID(aggregateID))
	if err != nil {
		return nil, fmt.Errorf("read freeze: %w", err)
	}
	if !doc.Exists() {
		return nil, notFrozen(aggregateID)
	}
	return DecodeFreeze(doc), nil
}

// Overtaken finds the dead letters that a release of the aggregate would
// overtake: those of SECURITY_BLOCK that nobody replayed or discarded, a few at
// most, without their records.
func (q *Queue) Overtaken(ctx context.Context, aggregateID string) ([]*Item, error) {
	docs, err := q.store.Query(ctx, openBlocked(aggregateID))
	if err != nil {
		return nil, fmt.Errorf("find open dead letters of aggregate: %w", err)
	}
	return decodeItems(docs), nil
}

func notFrozen(aggregateID string) *Refusal {
	return &Refusal{Kind: NotFound, Detail: fmt.Sprintf("aggregate %q is not frozen", aggregateID), Hint: "list the freezes to find it"}
}
