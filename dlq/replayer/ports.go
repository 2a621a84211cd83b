package replayer

import (
	"context"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Schedule is what is to be replayed, and when; *dlq.Queue tells.
type Schedule interface {
	Now() time.Time
	Due(ctx context.Context, tier contracts.Tier, outboxes []string, after dlq.DueAfter, limit int) (dlq.DuePage, error)
	Asked(ctx context.Context, tier contracts.Tier, outboxes []string, since time.Time, limit int) ([]*dlq.Item, error)
	WatchDue(ctx context.Context, tier contracts.Tier, outboxes []string, limit int, changed func()) error
	WatchAsked(ctx context.Context, tier contracts.Tier, outboxes []string, limit int, changed func()) error
	Hear(b dlq.Bell) <-chan struct{}
}

// Letters are the dead letters that are replayed, and what becomes of them;
// *dlq.Queue has them.
type Letters interface {
	Item(ctx context.Context, id string) (*dlq.Item, error)
	Before(ctx context.Context, item *dlq.Item) (*dlq.Item, error)
	Defer(ctx context.Context, item *dlq.Item, until time.Time, behind string) error
	Hold(ctx context.Context, item *dlq.Item, w dlq.Waits) error
	Progress(ctx context.Context, item *dlq.Item, round dlq.Round) error
	End(ctx context.Context, item *dlq.Item, r dlq.Result) (*dlq.Item, error)
}

// Queue is what a Replayer needs of the dead-letter queue.
type Queue interface {
	Schedule
	Letters
	Catalog() *contracts.Catalog
}

// Lanes is where a replay is delivered: the relay, through the record's
// original lane.
type Lanes interface {
	// Pin keeps the item's outbox with this instance until the item is released:
	// no other takes it up before what became of its replay is written. It is false
	// where the outbox is another's, or about to be.
	Pin(item *dlq.Item) (release func(), ok bool)
	// Replay delivers the item's record to the targets that it still lacks, in
	// turn with the live records of its aggregate. It blocks until that round is
	// over or ctx ends. An error means that nothing is known. The item is pinned.
	Replay(ctx context.Context, item *dlq.Item) (dlq.Round, error)
	// Owned lists the outboxes whose work is this instance's now, at least in part.
	Owned() []string
	// Owns reports whether the item is of that part.
	Owns(item *dlq.Item) bool
}

// Reachability is what Lanes may tell besides, at no cost: whether a round of
// the item's replay would deliver to any target now. It is asked before anything
// is read, of the item without its record. One that would not takes nothing of
// the rate of automatic replays, which others can use.
type Reachability interface {
	Reachable(item *dlq.Item) bool
}

func (r *Replayer) reachable(item *dlq.Item) bool {
	l, ok := r.lanes.(Reachability)
	return !ok || l.Reachable(item)
}
