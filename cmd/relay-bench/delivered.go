package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/iterator"

	"outboxrelay/contracts"
)

const (
	// countEvery is how long the bench waits at least until it counts the delivered
	// records again, and countShare how many times as long as the last count took, which
	// Google's emulator answers by reading every document: at four counts a second they
	// took a fifth of what a side drained with. They only find the end: the times that
	// are reported are the server's. Where all wait for processors, countMost is enough.
	countEvery = 250 * time.Millisecond
	countShare = 8
	countMost  = 3 * time.Second
	// stalled is how long a side may deliver nothing before it is given up.
	stalled = 60 * time.Second
	// countedPerRead is how many documents a count goes through for one billed read.
	countedPerRead = 1000
)

var errStalled = fmt.Errorf("delivered nothing more for %v", stalled)

// awaitDelivered waits until n records are marked as delivered. It looks at
// both sides from outside, in the same way.
func (s *stage) awaitDelivered(ctx context.Context, r *running, n int) error {
	progress, best := time.Now(), 0
	for {
		began := time.Now()
		delivered, err := s.countDelivered(ctx)
		took := time.Since(began)
		switch {
		case err != nil:
			return err
		case delivered >= n:
			return nil
		case delivered > best:
			progress, best = time.Now(), delivered
		case time.Since(progress) > stalled:
			return fmt.Errorf("await delivery of %d records, %d are delivered: %w: %s", n, delivered, errStalled, r.Output())
		}
		select {
		case <-r.Exited():
			return fmt.Errorf("await delivery of %d records, %d are delivered: %w", n, delivered, r.Ended())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(max(countEvery, countShare*took), countMost)):
		}
	}
}

func (s *stage) delivered(outbox string) firestore.Query {
	return s.clients.Docs.Collection(outbox).Where(contracts.FieldStatus, "==", string(contracts.Delivered))
}

func (s *stage) countDelivered(ctx context.Context) (int, error) {
	sum := 0
	for _, outbox := range s.outboxes() {
		q := s.delivered(outbox)
		result, err := q.NewAggregationQuery().WithCount("n").Get(ctx)
		if err != nil {
			return 0, fmt.Errorf("count delivered of %s: %w", outbox, err)
		}
		value, ok := result["n"].(*firestorepb.Value)
		if !ok {
			return 0, fmt.Errorf("count delivered of %s: the answer holds no count", outbox)
		}
		n := int(value.GetIntegerValue())
		s.counted += int64(max(1, (n+countedPerRead-1)/countedPerRead))
		sum += n
	}
	return sum, nil
}

// deliveryTimes are the server's times of the marks, oldest first: when each
// delivered record was last written.
func (s *stage) deliveryTimes(ctx context.Context) ([]time.Time, error) {
	var times []time.Time
	for _, outbox := range s.outboxes() {
		docs := s.delivered(outbox).Select().Documents(ctx)
		for {
			doc, err := docs.Next()
			if errors.Is(err, iterator.Done) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read delivery times of %s: %w", outbox, err)
			}
			times = append(times, doc.UpdateTime)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times, nil
}
