package trace

import (
	"context"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Store finds documents; a dlq.Store does.
type Store interface {
	Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error)
}

// Freezes tells how aggregates are frozen; *dlq.Queue does.
type Freezes interface {
	FreezesOf(ctx context.Context, aggregateIDs ...string) ([]*dlq.Freeze, error)
}

// Finder finds what is known of the way of records. It changes nothing, and its
// methods may be called from any goroutine. What they refuse is a *dlq.Refusal;
// any other error is a failure of the store.
type Finder struct {
	store    Store
	freezes  Freezes
	outboxes []string
}

// New makes a Finder for the outboxes of a catalog.
func New(store Store, freezes Freezes, catalog *contracts.Catalog) *Finder {
	f := &Finder{store: store, freezes: freezes}
	for _, o := range catalog.Outboxes {
		f.outboxes = append(f.outboxes, o.Name)
	}
	return f
}
