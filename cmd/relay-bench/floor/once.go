package floor

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
)

// Once relays a page of a lane of an outbox, one query and the publishes of what it
// found, and then does nothing until ctx ends, which is no error: it is the least
// that a start can take with the same clients.
func Once(ctx context.Context, cfg Config, outbox string, name contracts.Lane) error {
	err := connected(ctx, cfg, func(fs *firestore.Client, topics topics) error {
		p := &poller{
			lane:  lane{outbox: cfg.Catalog.Outbox(outbox), name: name, limit: cfg.Page, topics: topics},
			turns: make(chan struct{}, 1),
		}
		if _, err := p.turn(ctx, fs, p.pending(fs)); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("run floor once: %w", err)
	}
	return nil
}
