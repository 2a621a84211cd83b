package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

const (
	backlogCommit   = 400    // records of one commit of a backlog
	backlogTurn     = 20_000 // records that are made before they are appended
	backlogAge      = time.Second
	backlogOutboxes = 3   // outboxes that are filled at the same time
	paceInFlight    = 256 // commits of a paced load at most under way

	appendAgain = 20 * time.Millisecond // pause after a commit without an answer
)

// appendBacklog appends n records as fast as commits of many go. Those of one
// outbox are appended one commit after the other, so that the versions of an
// aggregate ascend with createdAt. It returns once the youngest has waited for a
// moment, as a backlog has: the relay takes what was appended just now on
// another way.
func (s *stage) appendBacklog(ctx context.Context, n int, lane contracts.Lane) error {
	for n > 0 {
		turn := min(n, backlogTurn)
		if err := s.appendAll(ctx, s.records.take(turn, lane), backlogCommit); err != nil {
			return err
		}
		n -= turn
	}
	rig.Sleep(ctx, backlogAge)
	return nil
}

// appendAll appends records in commits of at most so many.
func (s *stage) appendAll(ctx context.Context, recs []*contracts.Record, atOnce int) error {
	byOutbox := map[string][]*contracts.Record{}
	for _, rec := range recs {
		byOutbox[rec.Outbox] = append(byOutbox[rec.Outbox], rec)
	}
	g, appending := errgroup.WithContext(ctx)
	g.SetLimit(backlogOutboxes)
	for _, recs := range byOutbox {
		g.Go(func() error {
			for chunk := range slices.Chunk(recs, atOnce) {
				if _, err := s.commit(appending, chunk); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// load is a steady stream of appends.
type load struct {
	lane  contracts.Lane // "": any
	rate  int            // records a second
	group int            // records of one commit
	book  *book          // notes each record; nil: none
}

// appendPaced appends for d. It keeps to the clock whether or not the cloud
// keeps up, as producers do.
func (s *stage) appendPaced(ctx context.Context, l load, d time.Duration) error {
	every := time.Second * time.Duration(l.group) / time.Duration(l.rate)
	commits := int(d / every)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(paceInFlight)
	began := time.Now()
	for i := range commits {
		if !rig.Sleep(ctx, time.Until(began.Add(time.Duration(i)*every))) {
			break
		}
		recs := make([]*contracts.Record, l.group)
		for i := range recs {
			recs[i] = s.nextRecord(l.lane)
		}
		g.Go(func() error {
			at, err := s.commit(ctx, recs)
			if err == nil && l.book != nil {
				for _, rec := range recs {
					l.book.appended(rec.IdempotencyKey, appended{at: at, lane: rec.Lane, targets: len(s.route(rec).Targets)})
				}
			}
			return err
		})
	}
	return g.Wait()
}

// nextRecord makes a record; loads of several lanes run at the same time.
func (s *stage) nextRecord(lane contracts.Lane) *contracts.Record {
	s.making.Lock()
	defer s.making.Unlock()
	return s.records.next(lane)
}

func (s *stage) route(rec *contracts.Record) *contracts.EventRoute {
	return s.catalog.Outbox(rec.Outbox).RouteOf(rec.EventType, rec.EventVersion)
}

// commit appends records in one commit and returns its time, which is their
// createdAt.
func (s *stage) commit(ctx context.Context, recs []*contracts.Record) (time.Time, error) {
	writes := s.clients.Docs.Batch() //nolint:staticcheck // deprecated for BulkWriter, whose batches are not atomic
	for _, rec := range recs {
		fields := rec.ProducerFields()
		fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
		writes.Create(s.clients.Docs.Collection(rec.Outbox).Doc(rec.ID), fields)
	}
	results, err := untilAnswered(ctx, func() ([]*firestore.WriteResult, error) { return writes.Commit(ctx) })
	if status.Code(err) == codes.AlreadyExists { // an earlier try was applied after all
		return s.createdAt(ctx, recs[0])
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("append %d records to %s: %w", len(recs), recs[0].Outbox, err)
	}
	return results[0].UpdateTime, nil
}

func (s *stage) createdAt(ctx context.Context, rec *contracts.Record) (time.Time, error) {
	doc, err := s.clients.Docs.Collection(rec.Outbox).Doc(rec.ID).Get(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read appended record: %w", err)
	}
	return doc.CreateTime, nil
}

// untilAnswered writes again, as a producer would, what the server aborted or
// cancelled by itself: Google's emulator does both now and then under load.
func untilAnswered[T any](ctx context.Context, write func() (T, error)) (T, error) {
	for {
		result, err := write()
		code := status.Code(err)
		if code != codes.Aborted && code != codes.Canceled || !rig.Sleep(ctx, appendAgain) {
			return result, err
		}
	}
}
