package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
)

// QueueWatch counts what stands in the dead-letter queue of a local run, and
// behind it, by looking at Firestore as anybody could.
type QueueWatch struct {
	Docs    *firestore.Client
	Catalog *contracts.Catalog
	Log     *zap.Logger

	mu     sync.Mutex
	last   Queue
	stood  bool  // whether a count has found anything
	counts int64 // count queries so far; each is billed as a read
}

// queueLook is the pace at which the queue is counted while it is shown.
const queueLook = time.Second

// Run counts until ctx ends. A count that fails is made again.
func (q *QueueWatch) Run(ctx context.Context) error {
	for {
		if _, err := q.Count(ctx); err != nil && ctx.Err() == nil {
			q.Log.Warn("count the dead-letter queue", zap.Error(err))
		}
		if !shell.Pause(ctx, queueLook) {
			return nil
		}
	}
}

// Note tells an onlooker what the last count found; "" when nothing has been there.
func (q *QueueWatch) Note() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	note := q.last.Note()
	if note == "" && q.stood {
		return "dead letters: none any more"
	}
	return note
}

// Reads is how many reads the counting has been billed.
func (q *QueueWatch) Reads() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.counts
}

// Count counts now.
func (q *QueueWatch) Count(ctx context.Context) (Queue, error) {
	out := Queue{Open: map[contracts.Tier]int64{}}
	dead := q.Docs.Collection(contracts.CollectionDeadLetters)
	var err error
	for _, tier := range contracts.Tiers() {
		open := dead.Where(contracts.DeadFieldTier, "==", string(tier)).Where(contracts.DeadFieldOpen, "==", true)
		if out.Open[tier], err = q.number(ctx, open); err != nil {
			return out, err
		}
	}
	if out.Discarded, err = q.number(ctx, dead.Where(contracts.DeadFieldState, "==", string(contracts.DeadDiscarded))); err != nil {
		return out, err
	}
	if out.Frozen, err = q.number(ctx, q.Docs.Collection(contracts.CollectionFrozen).Query); err != nil {
		return out, err
	}
	for _, o := range q.Catalog.Outboxes {
		held, err := q.number(ctx, q.Docs.Collection(o.Name).Where(contracts.FieldStatus, "==", string(contracts.Held)))
		if err != nil {
			return out, err
		}
		out.Held += held
	}
	q.note(out)
	return out, nil
}

// note keeps what a count found.
func (q *QueueWatch) note(found Queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last, q.stood = found, q.stood || found.Note() != ""
}

func (q *QueueWatch) number(ctx context.Context, query firestore.Query) (int64, error) {
	const alias = "n"
	q.mu.Lock()
	q.counts++
	q.mu.Unlock()
	result, err := query.NewAggregationQuery().WithCount(alias).Get(ctx)
	if err != nil {
		return 0, fmt.Errorf("count dead letters: %w", err)
	}
	n, ok := result[alias].(*firestorepb.Value)
	if !ok {
		return 0, fmt.Errorf("count dead letters: answer is a %T", result[alias])
	}
	return n.GetIntegerValue(), nil
}
