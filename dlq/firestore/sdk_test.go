package firestore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/api/option"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// sent is a server that keeps the last commit that it is asked for, with its
// headers, and has done it.
type sent struct {
	encoded []byte // nil: none
	headers metadata.MD
}

func (s *sent) answer(ctx context.Context, _ string, req, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
	encoded, err := proto.Marshal(req.(*pb.CommitRequest))
	if err != nil {
		return err
	}
	s.encoded = encoded
	understood := &pb.CommitRequest{}
	if err := proto.Unmarshal(encoded, understood); err != nil {
		return err
	}
	s.headers, _ = metadata.FromOutgoingContext(ctx)
	result := &pb.WriteResult{UpdateTime: timestamppb.New(time.Unix(1, 0))}
	results := slices.Repeat([]*pb.WriteResult{result}, len(understood.GetWrites()))
	proto.Merge(reply.(proto.Message), &pb.CommitResponse{WriteResults: results})
	return nil
}

// request is the last commit, as a server understands it.
func (s *sent) request(t interface{ Fatal(...any) }) *pb.CommitRequest {
	req := &pb.CommitRequest{}
	if err := proto.Unmarshal(s.encoded, req); err != nil {
		t.Fatal(err)
	}
	if odd := req.ProtoReflect().GetUnknown(); len(odd) > 0 {
		t.Fatal("not understood:", odd)
	}
	return req
}

func captured(t testing.TB) (*dlqfirestore.Client, *sent) {
	s := &sent{}
	opts := append(local.FirestoreOptions("nowhere:1"), option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(s.answer)))
	c, err := dlqfirestore.Open(t.Context(), "my-project", "my-base", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, s
}

// batch commits writes by the SDK's own means.
func batch(ctx context.Context, client *firestore.Client, writes []dlq.Write) error {
	b := client.Batch() //nolint:staticcheck // its place is taken by what is tested here
	for _, w := range writes {
		ref := client.Collection(w.Collection).Doc(w.ID)
		merged := make(map[string]any)
		var updates []firestore.Update
		for name, v := range w.Fields {
			if v == nil {
				v = firestore.Delete
			}
			v = sdkValue(v)
			merged[name], updates = v, append(updates, firestore.Update{FieldPath: firestore.FieldPath{name}, Value: v})
		}
		for name, members := range w.Union {
			elems := make([]any, len(members))
			for i, m := range members {
				elems[i] = m
			}
			v := firestore.ArrayUnion(elems...)
			merged[name], updates = v, append(updates, firestore.Update{FieldPath: firestore.FieldPath{name}, Value: v})
		}
		var unchanged []firestore.Precondition
		if !w.IfUnchangedSince.IsZero() {
			unchanged = append(unchanged, firestore.LastUpdateTime(w.IfUnchangedSince))
		}
		switch w.Op {
		case dlq.OpCreate:
			b.Create(ref, sdkValues(w.Fields))
		case dlq.OpSet:
			b.Set(ref, sdkValues(w.Fields))
		case dlq.OpMerge:
			b.Set(ref, merged, firestore.MergeAll)
		case dlq.OpDelete:
			b.Delete(ref, unchanged...)
		case dlq.OpUpdate:
			b.Update(ref, updates, unchanged...)
		}
	}
	_, err := b.Commit(ctx)
	return err
}

func sdkValue(v any) any {
	switch v := v.(type) {
	case dlq.ServerTime:
		return firestore.ServerTimestamp
	case map[string]any:
		if v != nil {
			return sdkValues(v)
		}
	}
	return v
}

func sdkValues(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = sdkValue(v)
	}
	return out
}

type ownWord string

// anyWrite is a write of any kind, with values of every type that one may hold.
func anyWrite(client *firestore.Client) *rapid.Generator[dlq.Write] {
	names := rapid.OneOf(
		rapid.SampledFrom([]string{"status", "deliveredAt", "a b", "a.b", "`", `\`, "0", "ü", "_x9", "__type__", "", "status2"}),
		rapid.String(),
	)
	leaf := rapid.OneOf(
		rapid.SampledFrom([]any{
			nil, true, 7, int64(-1), int32(5), uint8(3), 1.5, math.NaN(), math.Inf(-1), math.Copysign(0, -1), "", "pending", ownWord("mine"), contracts.Dead,
			time.Unix(1_750_000_000, 123456789),
			time.Time{},
			[]byte(nil), []byte("x"), []string(nil),
			[]string{"a", "a"},
			[]any(nil),
			[]any{},
			map[string]any(nil),
			map[string]string{"k": "v"},
			map[string]int64{},
			[]int64{1},
			[]map[string]any{{"x": 1}},
			dlq.ServerTime{},
			[]any{dlq.ServerTime{}, map[string]any{"at": dlq.ServerTime{}}},
			&latlng.LatLng{Latitude: 1},
			firestore.Vector64{1, 2},
			firestore.Vector32{3},
			(*firestore.DocumentRef)(nil), firestore.BSONInt32(3), firestore.BSONObjectID("x"),
			timestamppb.New(time.Unix(3, 0)), client.Doc("a/b"), time.Second,
			struct{ X int }{1},
			make(chan int), uint64(1),
		}),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
	)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		below := value(depth - 1)
		return rapid.OneOf(
			leaf, leaf,
			rapid.Map(rapid.SliceOfN(below, 0, 3), func(s []any) any { return s }),
			rapid.Map(rapid.MapOfN(names, below, 0, 3), func(m map[string]any) any { return m }),
		)
	}
	return rapid.Custom(func(t *rapid.T) dlq.Write {
		w := dlq.Write{
			Collection: rapid.SampledFrom([]string{"accOutbox", "dead-letters", "bulk-replays/x/items"}).Draw(t, "collection"),
			ID:         rapid.StringN(1, 8, 32).Draw(t, "id"),
			Op:         dlq.WriteOp(rapid.IntRange(int(dlq.OpUpdate), int(dlq.OpDelete)).Draw(t, "op")),
			Fields:     rapid.MapOfN(names, value(3), 0, 5).Draw(t, "fields"),
		}
		if w.Op == dlq.OpUpdate || w.Op == dlq.OpMerge {
			w.Union = rapid.MapOfN(names, rapid.SliceOfN(rapid.String(), 0, 3), 0, 2).Draw(t, "union")
		}
		if w.Op != dlq.OpSet && rapid.Bool().Draw(t, "since") { // the SDK's Set takes no precondition
			w.IfUnchangedSince = time.Unix(rapid.Int64Range(-10, 1<<40).Draw(t, "at"), 5).UTC()
		}
		return w
	})
}

// What is sent is what the SDK would send, of any writes.
func TestCommitsAreThoseOfTheSDK(t *testing.T) {
	c, s := captured(t)
	for kind, write := range map[string]*rapid.Generator[dlq.Write]{"any writes": anyWrite(c.Client), "marks": aMark()} {
		t.Run(kind, func(t *testing.T) { testCommits(t, c, s, write) })
	}
}

func testCommits(t *testing.T, c *dlqfirestore.Client, s *sent, write *rapid.Generator[dlq.Write]) {
	rapid.Check(t, func(t *rapid.T) {
		writes := rapid.SliceOfN(write, 1, 4).Draw(t, "writes")
		s.encoded = nil
		wantErr := batch(t.Context(), c.Client, writes)
		want, headers := s.request(t), s.headers
		s.encoded = nil
		at, err := c.Commit(t.Context(), writes)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		if err != nil {
			if s.encoded != nil {
				t.Fatalf("sent, and yet %v", err)
			}
			return
		}
		if !at.Equal(time.Unix(1, 0)) {
			t.Fatalf("committed at %v", at)
		}
		inOrder := protocmp.SortRepeated(func(a, b *pb.DocumentTransform_FieldTransform) bool { return a.GetFieldPath() < b.GetFieldPath() })
		if diff := cmp.Diff(want, s.request(t), protocmp.Transform(), inOrder, cmpopts.EquateNaNs()); diff != "" {
			t.Fatal(diff)
		}
		for _, name := range []string{"google-cloud-resource-prefix", "x-goog-request-params", "x-goog-is-transaction"} {
			if got, want := s.headers.Get(name), headers.Get(name); len(want) == 0 || !slices.Equal(got, want) {
				t.Fatalf("header %s is %q, want %q", name, got, want)
			}
		}
	})
}

// aMark is a write like those of delivered records, with a value now and then that
// those do not have.
func aMark() *rapid.Generator[dlq.Write] {
	text := rarely(rapid.OneOf(rapid.String(), rapid.Just("")), "bad\xff")
	value := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.Int(), func(n int) any { return n }),
		rapid.Map(rapid.Int64Range(-1<<40, 1<<40), func(n int64) any { return time.Unix(n/1000, n%1000).UTC() }),
		rapid.Map(rapid.SliceOfN(text, 0, 4), func(s []string) any { return s }),
		rapid.SampledFrom([]any{time.Unix(0, 0).UTC(), time.Unix(0, 7).UTC(), time.Unix(9, 0).UTC(), int64(3), []string(nil), dlq.ServerTime{}, contracts.Dead}),
	)
	names := rapid.OneOf(rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_]{0,20}`), rapid.SampledFrom([]string{"a.b", "ü"}))
	return rapid.Custom(func(t *rapid.T) dlq.Write {
		w := dlq.Write{
			Collection: rapid.SampledFrom([]string{"accOutbox", "orderOutbox"}).Draw(t, "collection"), ID: rarely(rapid.StringN(1, 8, 32), "bad\xff").Draw(t, "id"),
			Op: dlq.OpUpdate, Fields: rapid.MapOfN(names, value, rarely(rapid.Just(1), 0).Draw(t, "least"), 6).Draw(t, "fields"),
		}
		switch rapid.IntRange(0, 5).Draw(t, "besides") {
		case 0:
			w.IfUnchangedSince = time.Unix(rapid.Int64Range(-10, 1<<40).Draw(t, "at"), 5).UTC()
		case 1:
			w.Union = map[string][]string{"members of its own": {"a"}}
		}
		return w
	})
}

// rarely draws what is odd once in thirty times: it fails a whole commit.
func rarely[T any](mostly *rapid.Generator[T], odd T) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		if rapid.IntRange(0, 29).Draw(t, "odd") == 29 {
			return odd
		}
		return mostly.Draw(t, "mostly")
	})
}

// A commit that is not understood is none.
func TestCommitRefusesWhatIsNoWrite(t *testing.T) {
	c, s := captured(t)
	for name, writes := range map[string][]dlq.Write{
		"nothing":         nil,
		"unknown kind":    {{Collection: "c", ID: "a", Op: 99}},
		"a document":      {{Collection: "c/a", ID: "b", Op: dlq.OpDelete}},
		"empty path":      {{Collection: "", ID: "b", Op: dlq.OpDelete}},
		"set and added":   {{Collection: "c", ID: "a", Op: dlq.OpUpdate, Fields: map[string]any{"x": 1}, Union: map[string][]string{"x": {"a"}}}},
		"no text":         {{Collection: "c", ID: "a\xff", Op: dlq.OpUpdate, Fields: map[string]any{"x": "a"}}},
		"nothing changes": {{Collection: "c", ID: "a", Op: dlq.OpUpdate}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Commit(t.Context(), writes)
			if failed, ok := errors.AsType[dlq.CommitError](err); !ok || failed.Refused() || s.encoded != nil {
				t.Errorf("got %v, sent %q", err, s.encoded)
			}
		})
	}
}

// marks are those of a batch of delivered records.
func marks(n int) []dlq.Write {
	writes := make([]dlq.Write, n)
	at := time.Unix(1_750_000_000, 0)
	for i := range writes {
		writes[i] = dlq.Write{Collection: "accOutbox", ID: fmt.Sprintf("%s-%d", strings.Repeat("x", 36), i), Op: dlq.OpUpdate, Fields: map[string]any{
			contracts.FieldStatus: string(contracts.Delivered), contracts.FieldDeliveredAt: at.Add(time.Duration(i) * time.Microsecond),
			contracts.FieldExpireAt: at.Add(time.Hour + time.Duration(i)*time.Microsecond), contracts.FieldDeliveredTargets: []string{"billing", "audit"},
		}}
	}
	return writes
}

// A commit takes room for what it holds: also where its first write is the largest.
func TestCommitTakesNoRoomForWhatItDoesNotHold(t *testing.T) {
	c, _ := captured(t)
	writes := append([]dlq.Write{{
		Collection: "dead-letters", ID: "a", Op: dlq.OpCreate, Fields: map[string]any{"record": strings.Repeat("x", 900<<10)},
	}}, marks(199)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := c.Commit(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("%d MiB were allocated for a commit of 1", took>>20)
	}
}

// BenchmarkCommitOnTheEmbeddedCloud commits 200 marks, the server's part included.
func BenchmarkCommitOnTheEmbeddedCloud(b *testing.B) {
	_, address := firestoretest.Start(b, localfirestore.Options{})
	c := firestoretest.Client(b, address)
	writes := marks(200)
	created := slices.Clone(writes)
	for i := range created {
		created[i].Op = dlq.OpSet
	}
	if _, err := c.Commit(b.Context(), created); err != nil {
		b.Fatal(err)
	}
	compare(b, c, writes, func() error { return nil })
}

// compare measures a commit of the writes and what is done after each, by the SDK and
// by us.
func compare(b *testing.B, c *dlqfirestore.Client, writes []dlq.Write, after func() error) {
	for name, commit := range map[string]func() error{
		"sdk":  func() error { return batch(b.Context(), c.Client, writes) },
		"ours": func() error { _, err := c.Commit(b.Context(), writes); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := errors.Join(commit(), after()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCommit builds and marshals a commit of 200 marks.
func BenchmarkCommit(b *testing.B) {
	c, _ := captured(b)
	compare(b, c, marks(200), func() error { return nil })
}
