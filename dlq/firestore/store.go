package firestore

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/dlq"
)

// Store implements dlq.Store.
type Store struct{ client *Client }

var _ dlq.Store = (*Store)(nil)

// New returns a Store over client, which the caller closes once nothing uses
// the Store any more.
func New(client *Client) *Store { return &Store{client: client} }

// Get implements dlq.Store. All documents are read in one call, at one time.
func (s *Store) Get(ctx context.Context, collection string, ids ...string) ([]dlq.Doc, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	refs := make([]*firestore.DocumentRef, len(ids))
	for i, id := range ids {
		refs[i] = s.client.Collection(collection).Doc(id)
	}
	snaps, err := s.client.GetAll(ctx, refs)
	if err != nil {
		return nil, Failure("read documents of "+collection, err)
	}
	return documents(snaps), nil
}

// Query implements dlq.Store.
func (s *Store) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	snaps, err := query(s.client.Client, q).Documents(ctx).GetAll()
	if err != nil {
		return nil, Failure("query "+q.Collection, err)
	}
	return documents(snaps), nil
}

// Count implements dlq.Store.
func (s *Store) Count(ctx context.Context, q dlq.Query) (int64, error) {
	counts, err := s.Counts(ctx, q)
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Counts implements dlq.Store.
func (s *Store) Counts(ctx context.Context, qs ...dlq.Query) ([]int64, error) {
	queries := make([]firestore.Query, len(qs))
	for i, q := range qs {
		queries[i] = query(s.client.Client, q)
	}
	counts, err := s.client.Counts(ctx, queries...)
	if err != nil {
		return nil, Failure("count "+qs[0].Collection, err)
	}
	return counts, nil
}

// Commit implements dlq.Store.
func (s *Store) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	return s.client.Commit(ctx, writes)
}
