package firestore

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay"
)

// Store implements relay.Store.
type Store struct {
	watching *dlqfirestore.Client
	writing  *dlqfirestore.Client
}

var _ relay.Store = (*Store)(nil)

// New returns a Store over two clients of one database. The listeners' streams
// stay on watching, so that they never queue a page or a commit; the two may
// be the same. The caller closes them after the relay has returned.
func New(watching, writing *dlqfirestore.Client) *Store {
	return &Store{watching: watching, writing: writing}
}

// Count implements relay.Store.
func (s *Store) Count(ctx context.Context, scans ...relay.Scan) ([]int64, error) {
	var counts []int64
	err := s.atOnce(ctx, len(scans), func(ctx context.Context, tx *firestore.Transaction) error {
		counts = make([]int64, len(scans))
		for i, sc := range scans {
			q := query(s.writing.Client, sc)
			count := q.NewAggregationQuery().WithCount("n")
			if tx != nil {
				count = count.Transaction(tx)
			}
			res, err := count.Get(ctx)
			if err != nil {
				return err
			}
			v, ok := res["n"].(*firestorepb.Value)
			if !ok {
				return status.Error(codes.Internal, "the answer holds no count")
			}
			counts[i] = v.GetIntegerValue()
		}
		return nil
	})
	if err != nil {
		return nil, dlqfirestore.Failure("count "+scans[0].Outbox, err)
	}
	return counts, nil
}

// atOnce has several reads see one moment: in a transaction that only reads, which
// locks nothing. One read needs none.
func (s *Store) atOnce(ctx context.Context, reads int, read func(context.Context, *firestore.Transaction) error) error {
	if reads <= 1 {
		return read(ctx, nil)
	}
	return s.writing.RunTransaction(ctx, read, firestore.ReadOnly)
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
func (s *Store) Commit(ctx context.Context, writes []relay.Write) ([]time.Time, error) {
	return s.writing.CommitEach(ctx, writes)
}
