package firestore_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	gcp "cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/local/firestore"
)

const backlog = 100_000

func text(s string) *pb.Value { return &pb.Value{ValueType: &pb.Value_StringValue{StringValue: s}} }

func pendingRecord(i int) *pb.Write {
	id := fmt.Sprintf("5f0c4c1e-93a1-4a8f-8a60-%012d:account-%d:%d", i, i%500, i)
	number := &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: int64(i)}}
	at := timestamppb.New(time.Unix(1_780_000_000, int64(i/20)*int64(time.Millisecond)))
	return &pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{
		Name: testDatabase + "/documents/outbox/" + id,
		Fields: map[string]*pb.Value{
			"eventId": text(id[:36]), "eventType": text("RoleChanged"), "aggregateType": text("account"),
			"aggregateId": text(fmt.Sprint("account-", i%500)), "aggregateVersion": number, "idempotencyKey": text(id),
			"traceId": text("4bf92f3577b34da6a3ce929d0e0e4736"), "producer": text("accounts"), "lane": text("CRITICAL_LANE"),
			"dlqTier": text("SECURITY_BLOCK"), "status": text("pending"),
			"createdAt":  {ValueType: &pb.Value_TimestampValue{TimestampValue: at}},
			"occurredAt": {ValueType: &pb.Value_TimestampValue{TimestampValue: at}},
			"payload": {ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: map[string]*pb.Value{
				"role": text("admin"), "by": text("someone@example.com"), "amount": number,
			}}}},
		},
	}}}
}

// loaded is a server with a backlog of pending records.
func loaded(b *testing.B) (*firestore.Server, *gcp.Client) {
	b.Helper()
	s, addr := start(b, firestore.Options{Indexes: &indexes.File{Indexes: []indexes.Composite{indexes.On("outbox", "lane", "status", "createdAt")}}})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := 0; i < backlog; i += 500 {
		req := &pb.CommitRequest{Database: testDatabase}
		for j := range 500 {
			req.Writes = append(req.Writes, pendingRecord(i+j))
		}
		if _, err := s.Commit(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	perDoc := float64(after.HeapAlloc-before.HeapAlloc) / backlog
	b.Logf("%.0f bytes of memory for each document", perDoc)
	return s, dial(b, addr)
}

func pendingQuery(c *gcp.Client) gcp.Query {
	return c.Collection("outbox").Where("lane", "==", "CRITICAL_LANE").Where("status", "==", "pending").OrderBy("createdAt", gcp.Asc)
}

// mark is a commit of 200 status changes, taken round the backlog.
func mark(i int, statusName string) *pb.CommitRequest {
	req := &pb.CommitRequest{Database: testDatabase}
	for j := range 200 {
		w := pendingRecord((i*200 + j) % backlog)
		w.GetUpdate().Fields = map[string]*pb.Value{"status": text(statusName)}
		w.UpdateMask = &pb.DocumentMask{FieldPaths: []string{"status"}}
		req.Writes = append(req.Writes, w)
	}
	return req
}

// BenchmarkMark200 commits 200 status changes into a backlog of 100,000 that a
// limited listener watches, without the network.
func BenchmarkMark200(b *testing.B) {
	s, c := loaded(b)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	it := pendingQuery(c).Limit(200).Snapshots(ctx)
	began := time.Now()
	if _, err := it.Next(); err != nil {
		b.Fatal(err)
	}
	firstView := time.Since(began)
	i := 0
	for b.Loop() {
		b.StopTimer()
		req := mark(i/2, []string{"done", "pending"}[i%2])
		i++
		b.StartTimer()
		if _, err := s.Commit(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(firstView.Milliseconds()), "ms-first-view")
}

// BenchmarkWindowRefill marks two of a window of 200 over a backlog of 100,000 and
// awaits the snapshot with its refill, over the real client.
func BenchmarkWindowRefill(b *testing.B) {
	_, c := loaded(b)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	it := pendingQuery(c).Limit(200).Snapshots(ctx)
	snap, err := it.Next()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		first, err := snap.Documents.Next()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := first.Ref.Update(ctx, []gcp.Update{{Path: "status", Value: "done"}}); err != nil {
			b.Fatal(err)
		}
		if snap, err = it.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPage300 reads a page of 300 after a cursor, over the real client.
func BenchmarkPage300(b *testing.B) {
	_, c := loaded(b)
	q := pendingQuery(c).OrderBy(gcp.DocumentID, gcp.Asc).Limit(300)
	page := q
	for b.Loop() {
		snaps, err := page.Documents(b.Context()).GetAll()
		if err != nil {
			b.Fatal(err)
		}
		if page = q; len(snaps) == 300 {
			page = q.StartAfter(snaps[299])
		}
	}
}

// BenchmarkListenAll is the first snapshot of all 100,000, over the real client.
func BenchmarkListenAll(b *testing.B) {
	_, c := loaded(b)
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		snap, err := pendingQuery(c).Snapshots(ctx).Next()
		if err != nil || snap.Size != backlog {
			b.Fatalf("want %d documents, got %d, %v", backlog, snap.Size, err)
		}
		cancel()
	}
}
