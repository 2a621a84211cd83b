package dlq

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Config is what a Queue is made of.
type Config struct {
	Store   Store
	Catalog *contracts.Catalog
	Log     *zap.Logger      // nil: none
	Now     func() time.Time // nil: time.Now
	NewID   func() string    // of decisions; nil: time-ordered UUIDs
	// Random is uniform in [0,1) and spreads the replays that the service makes by
	// itself; it may be called by several goroutines at once. nil: math/rand's.
	Random func() float64
}

// Queue is the dead-letter queue: what people decide about it, what the service
// finds, and what can be read of it. Its methods may be called from any
// goroutine, and on any instance. What they refuse is a *Refusal; any other
// error is a failure of the store.
type Queue struct {
	store   Store
	catalog *contracts.Catalog
	log     *zap.Logger
	now     func() time.Time
	newID   func() string
	random  func() float64
	bells   bells
	others  others
}

// New joins a queue.
func New(c Config) (*Queue, error) {
	if c.Store == nil || c.Catalog == nil {
		return nil, errors.New("make dead-letter queue: store and catalog are required")
	}
	q := &Queue{store: c.Store, catalog: c.Catalog, log: c.Log, now: c.Now, newID: c.NewID, random: c.Random}
	if q.log == nil {
		q.log = zap.NewNop()
	}
	if q.now == nil {
		q.now = time.Now
	}
	if q.newID == nil {
		q.newID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if q.random == nil {
		q.random = rand.Float64
	}
	return q, nil
}

// Item reads one dead letter, its record included.
func (q *Queue) Item(ctx context.Context, id string) (*Item, error) {
	doc, err := q.deadLetter(ctx, id)
	if err != nil {
		return nil, err
	}
	return DecodeItem(doc), nil
}

// deadLetter reads the document of one, which has to be there.
func (q *Queue) deadLetter(ctx context.Context, id string) (Doc, error) {
	doc, err := q.get(ctx, contracts.CollectionDeadLetters, id)
	if err != nil {
		return Doc{}, fmt.Errorf("read dead letter: %w", err)
	}
	if !doc.Exists() {
		return Doc{}, noDeadLetter(id)
	}
	return doc, nil
}

func noDeadLetter(id string) *Refusal {
	return &Refusal{Kind: NotFound, Detail: fmt.Sprintf("there is no dead letter %q", id), Hint: "list the dead letters to find its ID"}
}

// Now is the time by which the queue judges what is due.
func (q *Queue) Now() time.Time { return q.now() }

// Catalog is the queue's catalog. Nobody changes it.
func (q *Queue) Catalog() *contracts.Catalog { return q.catalog }

// pageByID reads a page of a query that is ordered by the ID: what stands behind
// after, or the first where that is empty. next is where the next page begins; "":
// there is none.
func (q *Queue) pageByID(ctx context.Context, query Query, after string) (docs []Doc, next string, err error) {
	if after != "" {
		query.StartAfter = []any{after}
	}
	if docs, err = q.store.Query(ctx, query); err != nil {
		return nil, "", err
	}
	if len(docs) == query.Limit {
		next = docs[len(docs)-1].ID
	}
	return docs, next, nil
}

// get reads one document. An ID that no document can have names none.
func (q *Queue) get(ctx context.Context, collection, id string) (Doc, error) {
	if !contracts.IsDocumentID(id) {
		return Doc{}, nil
	}
	docs, err := q.store.Get(ctx, collection, id)
	if err != nil {
		return Doc{}, err
	}
	return docs[0], nil
}
