package firestore

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
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
	queries := make([]firestore.Query, len(scans))
	for i, sc := range scans {
		queries[i] = query(s.writing.Client, sc)
	}
	counts, err := s.writing.Counts(ctx, queries...)
	if err != nil {
		return nil, dlqfirestore.Failure("count "+scans[0].Outbox, err)
	}
	return counts, nil
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
