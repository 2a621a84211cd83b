package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	ierpubsub "outboxrelay/ier/pubsub"
)

// project is the one of every cloud of the bench.
const project = "relay-bench"

// stage is what one measurement of one side happens on: a fresh cloud with the
// catalog's topics, and clients of the bench's own.
type stage struct {
	cloud   *cloud
	catalog *contracts.Catalog
	making  sync.Mutex // guards records
	records *records
	fs      *firestore.Client
	ps      *pubsub.Client
	// counted is how many billed reads the bench's own counting has caused.
	counted int64
}

func (b *bench) openStage(ctx context.Context) (*stage, error) {
	c, err := b.startCloud(ctx)
	if err != nil {
		return nil, fmt.Errorf("open stage: %w", err)
	}
	s := &stage{cloud: c, catalog: b.catalog, records: newRecords(b.catalog)}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open stage: %w", err), s.close())
	}
	return s, nil
}

func (s *stage) connect(ctx context.Context) error {
	var err error
	if s.fs, err = firestore.NewClient(ctx, project, local.FirestoreOptions(s.cloud.firestore)...); err != nil {
		return fmt.Errorf("connect to Firestore: %w", err)
	}
	if s.ps, err = pubsub.NewClient(ctx, project, local.ClientOptions(s.cloud.pubsub)...); err != nil {
		return fmt.Errorf("connect to Pub/Sub: %w", err)
	}
	return ierpubsub.EnsureTopics(ctx, s.ps, append(s.catalog.Topics(), controlTopic))
}

func (s *stage) close() error {
	var errs []error
	if s.fs != nil {
		errs = append(errs, s.fs.Close())
	}
	if s.ps != nil {
		errs = append(errs, s.ps.Close())
	}
	return errors.Join(append(errs, s.cloud.stop())...)
}

func (s *stage) outboxes() []string {
	names := make([]string, len(s.catalog.Outboxes))
	for i, outbox := range s.catalog.Outboxes {
		names[i] = outbox.Name
	}
	return names
}

// sleep waits for d and reports false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
