package dlq

import (
	"context"

	"outboxrelay/contracts"
)

// Lanes is where a replay is delivered: the relay, through the record's
// original lane.
type Lanes interface {
	// Replay delivers the item's record to the targets that it still lacks, in
	// turn with the live records of its aggregate. It blocks until that round is
	// over or ctx ends. An error means that nothing is known.
	Replay(ctx context.Context, item *Item) (Round, error)
	// Owned lists the outboxes whose work is this instance's now, at least in part.
	Owned() []string
	// Owns reports whether the item is of that part.
	Owns(item *Item) bool
}

// Round is how one round of a replay's delivery went. Each missing target is in
// one of the first three lists. A pending target that the catalog does not route
// to any more is among the failed, unless an outage ended the round.
type Round struct {
	Acked   []string
	Failed  []contracts.AttemptError // attempts that count
	Blocked []string                 // not tried, or an outage: the target's breaker is or may soon be open
	Missing []string                 // all that the round set out for; empty when it came to no delivery
}

// Alerts is where alerts are published: topic domain-errors.
type Alerts interface {
	// Publish returns once the alert was acknowledged.
	Publish(ctx context.Context, data []byte, attributes map[string]string) error
}
