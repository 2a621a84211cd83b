package bulk

import (
	"context"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Queue is what a Runner needs of the dead-letter queue; *dlq.Queue has it.
type Queue interface {
	Catalog() *contracts.Catalog

	// The bulk replays that are not through.
	Unsettled(ctx context.Context) ([]*dlq.Bulk, error)
	WatchUnsettled(ctx context.Context, told func([]*dlq.Bulk)) error
	Hear(b dlq.Bell) <-chan struct{}

	// What one of them takes, and how far it has got.
	Pins(ctx context.Context, b *dlq.Bulk, after string) (pins []dlq.Pin, next string, err error)
	Pinned(ctx context.Context, ids []string) (map[string]*dlq.Item, error)
	SaveBulk(ctx context.Context, b *dlq.Bulk, end *dlq.BulkEnd) (after *dlq.Bulk, settled bool, err error)

	// Decide asks for the replay of a dead letter.
	Decide(ctx context.Context, id string, d dlq.Decide) (*dlq.Decided, error)
}
