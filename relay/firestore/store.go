package firestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay"
)

// Store implements relay.Store.
type Store struct {
	watching *firestore.Client
	writing  *firestore.Client
}

var _ relay.Store = (*Store)(nil)

// New returns a Store over two clients of one database. The listeners' streams
// stay on watching, so that they never queue a page or a commit; the two may
// be the same. The caller closes them after the relay has returned.
func New(watching, writing *firestore.Client) *Store {
	return &Store{watching: watching, writing: writing}
}

// Page implements relay.Store.
func (s *Store) Page(ctx context.Context, sc relay.Scan) ([]relay.Doc, error) {
	it := query(s.writing, sc).Limit(sc.Limit).Documents(ctx)
	defer it.Stop()
	docs := make([]relay.Doc, 0, min(sc.Limit, 64))
	for {
		snap, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return docs, nil
		}
		if err != nil {
			return nil, dlqfirestore.Failure("read page of "+sc.Outbox, err)
		}
		docs = append(docs, document(snap, snap.ReadTime))
	}
}

// Count implements relay.Store.
func (s *Store) Count(ctx context.Context, sc relay.Scan) (int64, error) {
	q := query(s.writing, sc)
	res, err := q.NewAggregationQuery().WithCount("n").Get(ctx)
	if err != nil {
		return 0, dlqfirestore.Failure("count "+sc.Outbox, err)
	}
	v, ok := res["n"].(*firestorepb.Value)
	if !ok {
		return 0, dlqfirestore.Failure("count "+sc.Outbox, status.Error(codes.Internal, "the answer holds no count"))
	}
	return v.GetIntegerValue(), nil
}

// Get implements relay.Store.
func (s *Store) Get(ctx context.Context, outbox, id string) (relay.Doc, bool, error) {
	snap, err := s.writing.Collection(outbox).Doc(id).Get(ctx)
	if status.Code(err) == codes.NotFound {
		return relay.Doc{}, false, nil
	}
	if err != nil {
		return relay.Doc{}, false, dlqfirestore.Failure(fmt.Sprintf("read %s/%s", outbox, id), err)
	}
	return document(snap, snap.ReadTime), true, nil
}

// Commit implements relay.Store.
func (s *Store) Commit(ctx context.Context, writes []relay.Write) (time.Time, error) {
	return dlqfirestore.Commit(ctx, s.writing, writes)
}
