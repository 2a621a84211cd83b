package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

// controlTopic is the control's own.
const controlTopic = "bench-control"

// controlLane is the lane of the control's records in a book.
const controlLane contracts.Lane = "control"

// control is a bare listener that publishes what it sees, on a collection that
// nobody else touches, with a trickle of documents. Its lag shows how much slower the cloud and
// the machine themselves have become, whoever is being measured.
func (s *stage) control(ctx context.Context, collection string, b *book, rate int, d time.Duration) error {
	listening, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(listening)
	ready := make(chan struct{})
	g.Go(func() error {
		if err := s.controlListen(ctx, collection, ready); listening.Err() == nil {
			return err
		}
		return nil
	})
	g.Go(func() error {
		defer stop()
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
		if err := s.controlAppend(ctx, collection, b, rate, d); err != nil {
			return err
		}
		rig.Sleep(ctx, controlGrace)
		return nil
	})
	return g.Wait()
}

// controlGrace is how long the last documents may take.
const controlGrace = 2 * time.Second

func (s *stage) controlListen(ctx context.Context, collection string, ready chan<- struct{}) error {
	publisher := s.clients.Messages.Publisher(controlTopic)
	publisher.PublishSettings.DelayThreshold = time.Millisecond
	defer publisher.Stop()
	snapshots := s.clients.Docs.Collection(collection).OrderBy(contracts.FieldCreatedAt, firestore.Asc).Snapshots(ctx)
	defer snapshots.Stop()
	for first := true; ; first = false {
		snapshot, err := snapshots.Next()
		if err != nil {
			return fmt.Errorf("listen to control: %w", err)
		}
		for _, change := range snapshot.Changes {
			if change.Kind == firestore.DocumentAdded {
				// The answer is not awaited: what fails is missing in the book.
				publisher.Publish(ctx, &pubsub.Message{
					Data:       []byte(change.Doc.Ref.ID),
					Attributes: map[string]string{contracts.AttrIdempotencyKey: change.Doc.Ref.ID},
				})
			}
		}
		if first {
			close(ready)
		}
	}
}

func (s *stage) controlAppend(ctx context.Context, collection string, b *book, rate int, d time.Duration) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(paceInFlight)
	every := time.Second / time.Duration(rate)
	began := time.Now()
	for i := range int(d / every) {
		if !rig.Sleep(ctx, time.Until(began.Add(time.Duration(i)*every))) {
			break
		}
		g.Go(func() error {
			doc := s.clients.Docs.Collection(collection).NewDoc()
			result, err := untilAnswered(ctx, func() (*firestore.WriteResult, error) {
				return doc.Set(ctx, map[string]any{contracts.FieldCreatedAt: firestore.ServerTimestamp})
			})
			if err != nil {
				return fmt.Errorf("append control: %w", err)
			}
			b.appended(doc.ID, appended{at: result.UpdateTime, lane: controlLane, targets: 1})
			return nil
		})
	}
	err := g.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
