package firestore

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
	fq := query(s.client.Client, q)
	res, err := fq.NewAggregationQuery().WithCount("n").Get(ctx)
	if err != nil {
		return 0, Failure("count "+q.Collection, err)
	}
	v, ok := res["n"].(*firestorepb.Value)
	if !ok {
		return 0, Failure("count "+q.Collection, status.Error(codes.Internal, "the answer holds no count"))
	}
	return v.GetIntegerValue(), nil
}

// Commit implements dlq.Store.
func (s *Store) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	return s.client.Commit(ctx, writes)
}
