package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Event is what a producer says of one event. Type, aggregate and data are all that most need.
type Event struct {
	Type          EventType
	AggregateType AggregateType
	AggregateID   string // a UUID
	// Data is what encoding/json makes a JSON object of; nil: an empty one.
	Data any

	// ID is the event's; zero: a new one. A producer that may try again with a transaction of its own
	// brings one: the same event a second time is then a no-op.
	ID         uuid.UUID
	Version    int       // of Data's form; 0: 1
	OccurredAt time.Time // of which microseconds are kept; zero: now
	Actor      *ActorRef // nil: that of the context, see WithActor
}

type actorKey struct{}

// WithActor returns a context whose events were caused by a, unless they name another.
func WithActor(ctx context.Context, a ActorRef) context.Context {
	return context.WithValue(ctx, actorKey{}, &a)
}

func actorOf(ctx context.Context) *ActorRef {
	a, _ := ctx.Value(actorKey{}).(*ActorRef)
	return a
}
