package firestore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	gcp "cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/local/firestore"
)

func TestHeartbeat(t *testing.T) {
	_, addr := start(t, firestore.Options{Heartbeat: 5 * time.Millisecond})
	beats := listenRaw(t, raw(t, addr), "c")
	last := (<-beats).GetReadTime().AsTime()
	for range 3 {
		tc := <-beats
		if at := tc.GetReadTime().AsTime(); !at.After(last) || len(tc.GetResumeToken()) == 0 {
			t.Errorf("want a later time than %v and a token, got %v", last, tc)
		} else {
			last = at
		}
	}
}

func TestUnsupportedIsRefusedByName(t *testing.T) {
	_, addr := start(t, firestore.Options{})
	c, ctx := raw(t, addr), t.Context()
	documents := testDatabase + "/documents"
	one := func(q *pb.StructuredQuery) *pb.RunQueryRequest {
		q.From = []*pb.StructuredQuery_CollectionSelector{{CollectionId: "c"}}
		return &pb.RunQueryRequest{Parent: documents, QueryType: &pb.RunQueryRequest_StructuredQuery{StructuredQuery: q}}
	}
	query := func(req *pb.RunQueryRequest) error {
		s, err := c.RunQuery(ctx, req)
		if err == nil {
			_, err = s.Recv()
		}
		return err
	}
	for what, call := range map[string]func() error{
		"PartitionQuery": func() error { _, err := c.PartitionQuery(ctx, &pb.PartitionQueryRequest{}); return err },
		"Write": func() error {
			s, err := c.Write(ctx)
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"ExecutePipeline": func() error {
			s, err := c.ExecutePipeline(ctx, &pb.ExecutePipelineRequest{})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"find_nearest": func() error {
			return query(one(&pb.StructuredQuery{FindNearest: &pb.StructuredQuery_FindNearest{}}))
		},
		"explain_options": func() error {
			req := one(&pb.StructuredQuery{})
			req.ExplainOptions = &pb.ExplainOptions{}
			return query(req)
		},
		"read_time": func() error {
			req := one(&pb.StructuredQuery{})
			req.ConsistencySelector = &pb.RunQueryRequest_ReadTime{ReadTime: timestamppb.Now()}
			return query(req)
		},
		"collection ID": func() error {
			req := one(&pb.StructuredQuery{})
			req.GetStructuredQuery().From = []*pb.StructuredQuery_CollectionSelector{{AllDescendants: true}}
			return query(req)
		},
	} {
		t.Run(what, func(t *testing.T) {
			if err := call(); status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), what) {
				t.Errorf("want Unimplemented by name, got %v", err)
			}
		})
	}
}

func TestRequestOverTenMegabytes(t *testing.T) {
	_, addr := start(t, firestore.Options{})
	req := &pb.CommitRequest{Database: testDatabase}
	for i := range 11 {
		req.Writes = append(req.Writes, &pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{
			Name:   fmt.Sprintf("%s/documents/c/%d", testDatabase, i),
			Fields: map[string]*pb.Value{"x": text(strings.Repeat("x", 1_000_000))},
		}}})
	}
	c := raw(t, addr)
	if _, err := c.Commit(t.Context(), req); status.Code(err) != codes.InvalidArgument {
		t.Errorf("want InvalidArgument, got %v", err)
	}
	req.Writes = req.Writes[:9]
	if _, err := c.Commit(t.Context(), req); err != nil {
		t.Errorf("want nine megabytes to pass, got %v", err)
	}
}

func TestReset(t *testing.T) {
	s, addr := start(t, firestore.Options{})
	c := dial(t, addr)
	if _, err := c.Doc("c/a").Set(t.Context(), map[string]any{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	it := c.Collection("c").Snapshots(ctx)
	if got := changes(t, it); got != "+a" {
		t.Fatalf("want a, got %q", got)
	}
	s.Reset()
	if got := changes(t, it); got != "-a" {
		t.Errorf("want listeners to see it, got %q", got)
	}
	if got := all(t, c, "c"); len(got) != 0 {
		t.Errorf("want nothing, got %v", got)
	}
}

func TestTransactionExpires(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	s, addr := start(t, firestore.Options{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	_ = s
	c := raw(t, addr)
	tx, err := c.BeginTransaction(t.Context(), &pb.BeginTransactionRequest{Database: testDatabase})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	now = now.Add(61 * time.Second)
	mu.Unlock()
	_, err = c.Commit(t.Context(), &pb.CommitRequest{Database: testDatabase, Transaction: tx.GetTransaction()})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("want an idle transaction to be gone, got %v", err)
	}
}

// TestSlowListenerHoldsUpNobody stalls a listener's stream under a load of commits
// and looks at what it ends up with.
func TestSlowListenerHoldsUpNobody(t *testing.T) {
	s, addr := start(t, firestore.Options{})
	slow, fast := dial(t, addr), dial(t, addr)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	it := slow.Collection("slow").OrderBy("n", gcp.Asc).Snapshots(ctx)
	if got := changes(t, it); got != "" {
		t.Fatalf("want nothing, got %q", got)
	}
	resume := s.Faults().Add(firestore.Fault{Method: "Listen", Collection: "slow", Stall: true})
	other := fast.Collection("other").Snapshots(ctx)
	if got := changes(t, other); got != "" {
		t.Fatalf("want nothing, got %q", got)
	}
	for i := range 300 {
		if _, err := fast.Doc(fmt.Sprintf("slow/d%d", i%3)).Set(ctx, map[string]any{"n": i}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fast.Doc("other/x").Set(ctx, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if got := changes(t, other); got != "+x" {
		t.Errorf("want the other listener to go on, got %q", got)
	}
	resume()
	snapshots := 0
	for last := ""; last != "d0 297 d1 298 d2 299"; snapshots++ {
		snap, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		docs, err := snap.Documents.GetAll()
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, d := range docs {
			parts = append(parts, d.Ref.ID, fmt.Sprint(d.Data()["n"]))
		}
		last = strings.Join(parts, " ")
	}
	if snapshots > 10 {
		t.Errorf("want the backlog to come in a few snapshots, got %d", snapshots)
	}
}

// TestManyClients runs writers, readers and listeners at once, for the race
// detector, and compares what the listeners end up with.
func TestManyClients(t *testing.T) {
	_, addr := start(t, firestore.Options{Indexes: &indexes.File{Indexes: []indexes.Composite{indexes.On("c", "lane", "n")}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var listeners, workers sync.WaitGroup
	for l := range 4 {
		c := dial(t, addr)
		q := c.Collection("c").Where("lane", "==", l%2).OrderBy("n", gcp.Asc)
		if l >= 2 {
			q = q.Limit(5)
		}
		it := q.Snapshots(ctx)
		listeners.Go(func() {
			for {
				snap, err := it.Next()
				if err != nil {
					t.Errorf("listener %d: %v", l, err)
					return
				}
				docs, err := snap.Documents.GetAll()
				if err != nil {
					t.Errorf("listener %d: %v", l, err)
					return
				}
				if len(docs) == 1 && docs[0].Ref.ID == fmt.Sprint("end", l%2) {
					return
				}
			}
		})
	}
	c := dial(t, addr)
	for w := range 4 {
		workers.Go(func() {
			for i := range 60 {
				d := c.Collection("c").Doc(fmt.Sprint(w, "-", i%10))
				if _, err := d.Set(ctx, map[string]any{"lane": i % 2, "n": i}); err != nil {
					t.Error(err)
				}
				if _, err := c.Collection("c").Where("lane", "==", 0).Where("n", ">", i/2).Limit(3).Documents(ctx).GetAll(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	b := batch(c)
	for w := range 4 {
		for i := range 10 {
			b.Delete(c.Collection("c").Doc(fmt.Sprint(w, "-", i)))
		}
	}
	for l := range 2 {
		b.Set(c.Collection("c").Doc(fmt.Sprint("end", l)), map[string]any{"lane": l, "n": 0})
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	listeners.Wait()
}
