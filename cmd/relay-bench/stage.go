package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

// project is the one of every cloud of the bench.
const project = "relay-bench"

// stage is what one measurement of one side happens on: a fresh cloud with the
// catalog's topics, and clients of the bench's own.
type stage struct {
	cloud   *rig.Cloud
	catalog *contracts.Catalog
	making  sync.Mutex // guards records
	records *records
	clients *rig.Clients
	// counted is how many billed reads the bench's own counting has caused.
	counted int64
}

func (b *bench) openStage(ctx context.Context) (*stage, error) {
	c, err := rig.StartCloud(ctx, b.opts.cloud, b.relayPath, b.catalogPath)
	if err != nil {
		return nil, fmt.Errorf("open stage: %w", err)
	}
	s := &stage{cloud: c, catalog: b.catalog, records: newRecords(b.catalog)}
	if s.clients, err = c.Connect(ctx, project, append(b.catalog.Topics(), controlTopic)); err != nil {
		return nil, errors.Join(fmt.Errorf("open stage: %w", err), c.Stop())
	}
	if err := s.moveAway(ctx, b.opts.distance); err != nil {
		return nil, errors.Join(fmt.Errorf("open stage: %w", err), s.close())
	}
	return s, nil
}

// moveAway has each call take that much longer from now on. What a listener is told of
// an open stream comes as soon as before.
func (s *stage) moveAway(ctx context.Context, distance time.Duration) error {
	if distance == 0 {
		return nil
	}
	away := rig.Fault{Delay: distance.String()}
	return errors.Join(s.cloud.Switches().Firestore(ctx, away), s.cloud.Switches().PubSub(ctx, away))
}

func (s *stage) close() error {
	return errors.Join(s.clients.Close(), s.cloud.Stop())
}

func (s *stage) outboxes() []string {
	names := make([]string, len(s.catalog.Outboxes))
	for i, outbox := range s.catalog.Outboxes {
		names[i] = outbox.Name
	}
	return names
}
