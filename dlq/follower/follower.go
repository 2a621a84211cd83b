package follower

import (
	"context"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

// Queue is what a Follower needs of the dead-letter queue; *dlq.Queue has it.
type Queue interface {
	WatchEntries(ctx context.Context, limit int, told func([]*dlq.Entry)) error
	WatchLetters(ctx context.Context, limit int, told func([]*dlq.Item)) error
	WatchBulks(ctx context.Context, limit int, told func([]*dlq.Bulk)) error
	Bulks(ctx context.Context, p dlq.Page) (dlq.Paged[*dlq.Bulk], error)
}

// Change is one thing of the queue that was changed, by a person or by the
// service. The zero Change is that more may have changed than is told.
type Change struct {
	Subject dlq.Subject
	On      string // the dead letter's ID, the aggregate, the lane, the bulk replay
}

// Follower tells of what changes in a queue.
type Follower struct {
	queue Queue
	cfg   sibling.Config
}

// quiet is how long a listener may tell nothing before it is replaced, which reads
// its documents again.
const quiet = 10 * time.Minute

const (
	// askEvery is how often Firestore is asked whether it answers, and askFor for how
	// long: a listener hears nothing of an outage, whose end its client waits for.
	askEvery = 30 * time.Second
	askFor   = 10 * time.Second
	// pace is between two ends of a listener that are told: one may end over and over.
	pace = 10 * time.Second
)

// New makes a Follower. It does nothing until Follow. log may be nil.
func New(q Queue, log *zap.Logger) *Follower {
	return &Follower{q, sibling.Config{Log: log, Quiet: quiet}.WithDefaults()}
}

// followed is how many of the latest entries, dead letters and bulk replays its
// listeners show. When more than that change between two results, the zero Change
// is told.
const followed = 20

// Follow calls told with what changes, until ctx ends: decisions and ends of
// replays, which all are in the audit, arrivals, and the progress of bulk replays.
// As each of these begins to be followed it tells the zero Change: whoever asked
// Firestore before that may have missed something. So it does when a listener ends,
// and twice a minute while Firestore does not answer: whoever asks then learns why
// nothing is told. It costs a read for each change, 60 to begin with and after each
// ten minutes without any, and up to 4 a minute.
func (f *Follower) Follow(ctx context.Context, told func([]Change)) error {
	return sibling.Together(
		ctx, "followers of the queue",
		follow(f.cfg, contracts.CollectionAudit, f.queue.WatchEntries, told, func(e *dlq.Entry) document {
			return document{e.ID, e.At, Change{e.Subject, e.On}} // an entry never changes
		}),
		follow(f.cfg, contracts.CollectionDeadLetters, f.queue.WatchLetters, told, func(i *dlq.Item) document {
			return document{i.ID, i.UpdateTime, Change{dlq.SubjectDeadLetter, i.ID}}
		}),
		follow(f.cfg, contracts.CollectionReplays, f.queue.WatchBulks, told, func(b *dlq.Bulk) document {
			return document{b.ID, b.UpdateTime, Change{dlq.SubjectBulk, b.ID}}
		}),
		func(ctx context.Context) error {
			for sibling.Rest(ctx, askEvery) {
				if !f.answers(ctx) && ctx.Err() == nil {
					told([]Change{{}})
				}
			}
			return nil
		},
	)
}

// answers reports whether Firestore does.
func (f *Follower) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	_, err := f.queue.Bulks(ctx, dlq.Page{Limit: 1})
	return err == nil
}

// follow keeps one listener.
func follow[T any](
	cfg sibling.Config, collection string, watch func(context.Context, int, func([]T)) error, told func([]Change), documentOf func(T) document,
) func(context.Context) error {
	return func(ctx context.Context) error {
		latest := &latest{}
		var ended time.Time // that was told last
		return sibling.Listen(ctx, cfg, collection, func(ctx context.Context, heard func()) error {
			err := watch(ctx, followed, func(all []T) {
				heard()
				docs := make([]document, len(all))
				for n, one := range all {
					docs[n] = documentOf(one)
				}
				if changes := latest.changes(docs); len(changes) > 0 {
					told(changes)
				}
			})
			if ctx.Err() == nil && time.Since(ended) >= pace {
				ended = time.Now()
				told([]Change{{}})
			}
			return err
		})
	}
}

// document is one that a listener shows.
type document struct {
	id      string
	updated time.Time
	change  Change // that it changed
}

// latest compares the results of a listener to the latest documents.
type latest struct {
	known map[string]time.Time // update times, by ID; nil before the first result
}

// changes tells what docs have that the result before had not. The first result
// has none before it to be compared with.
func (l *latest) changes(docs []document) []Change {
	before := l.known
	l.known = make(map[string]time.Time, len(docs))
	var out []Change
	kept := 0
	for _, d := range docs {
		l.known[d.id] = d.updated
		at, ok := before[d.id]
		if ok {
			kept++
		}
		if !ok || !at.Equal(d.updated) {
			out = append(out, d.change)
		}
	}
	switch {
	case before == nil:
		return []Change{{}}
	case kept == 0 && len(docs) == followed:
		return append(out, Change{})
	}
	return out
}
