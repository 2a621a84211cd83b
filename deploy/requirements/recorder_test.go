package requirements_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// recorder keeps what clients ask of Firestore.
type recorder struct {
	news chan struct{} // there is a query more

	mu      sync.Mutex
	queries []*firestorepb.StructuredQuery
}

// database is a client of a Firestore that has the indexes given, and what it
// is asked through it.
func database(t *testing.T, declared indexes.File) (*dlqfirestore.Client, *recorder) {
	t.Helper()
	server, err := localfirestore.Open(localfirestore.Options{Indexes: &declared})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	addr, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{news: make(chan struct{}, 1)}
	opts := append(local.FirestoreOptions(addr), option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(r.stream)))
	client, err := dlqfirestore.Open(context.Background(), "test-project", firestore.DefaultDatabaseID, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, r
}

func (r *recorder) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, cc, method, opts...)
	return &recorded{s, r}, err
}

type recorded struct {
	grpc.ClientStream
	to *recorder
}

func (s *recorded) SendMsg(m any) error {
	var q *firestorepb.StructuredQuery
	switch m := m.(type) {
	case *firestorepb.RunQueryRequest:
		q = m.GetStructuredQuery()
	case *firestorepb.RunAggregationQueryRequest:
		q = m.GetStructuredAggregationQuery().GetStructuredQuery()
	case *firestorepb.ListenRequest:
		q = m.GetAddTarget().GetQuery().GetStructuredQuery()
	}
	if q != nil {
		s.to.mu.Lock()
		s.to.queries = append(s.to.queries, q)
		s.to.mu.Unlock()
		select {
		case s.to.news <- struct{}{}:
		default:
		}
	}
	return s.ClientStream.SendMsg(m)
}

// filtered lists the collections that were asked for equalities alone.
func (r *recorder) filtered() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, q := range r.queries {
		if q.GetWhere() != nil && len(q.GetOrderBy()) <= 1 {
			out = append(out, q.GetFrom()[0].GetCollectionId())
		}
	}
	return out
}

// superfluous lists what of the declared indexes none of the queries would miss.
func (r *recorder) superfluous(declared indexes.File) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	served := slices.DeleteFunc(slices.Clone(r.queries), func(q *firestorepb.StructuredQuery) bool { return declared.Require(q) != nil })
	misses := func(without indexes.File) bool {
		return slices.ContainsFunc(served, func(q *firestorepb.StructuredQuery) bool { return without.Require(q) != nil })
	}
	var out []string
	for n, c := range declared.Indexes {
		without := declared
		without.Indexes = slices.Delete(slices.Clone(declared.Indexes), n, n+1)
		if !misses(without) {
			out = append(out, fmt.Sprintf("%s: %v", c.CollectionGroup, c.Fields))
		}
	}
	for n, o := range declared.FieldOverrides {
		if len(o.Indexes) == 0 {
			continue
		}
		without := declared
		without.FieldOverrides = slices.Clone(declared.FieldOverrides)
		without.FieldOverrides[n].Indexes = nil
		if !misses(without) {
			out = append(out, fmt.Sprintf("%s: %s", o.CollectionGroup, o.FieldPath))
		}
	}
	return out
}
