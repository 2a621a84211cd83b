package firestore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay"
)

const database = "projects/my-project/databases/(default)"

// nowhere is a client that reaches no server.
func nowhere(t testing.TB) *dlqfirestore.Client {
	t.Helper()
	c, err := dlqfirestore.Open(t.Context(), "my-project", "(default)", local.FirestoreOptions("nowhere:1")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func text(s string) *pb.Value { return &pb.Value{ValueType: &pb.Value_StringValue{StringValue: s}} }

// pbValue renders a plain Go value.
func pbValue(v any) *pb.Value {
	switch v := v.(type) {
	case nil:
		return &pb.Value{ValueType: &pb.Value_NullValue{}}
	case bool:
		return &pb.Value{ValueType: &pb.Value_BooleanValue{BooleanValue: v}}
	case int64:
		return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: v}}
	case float64:
		return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: v}}
	case string:
		return text(v)
	case []byte:
		return &pb.Value{ValueType: &pb.Value_BytesValue{BytesValue: v}}
	case time.Time:
		return &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: timestamppb.New(v)}}
	case []any:
		a := &pb.ArrayValue{}
		for _, e := range v {
			a.Values = append(a.Values, pbValue(e))
		}
		return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: a}}
	case map[string]any:
		return &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: pbFields(v)}}}
	case *pb.Value:
		return v
	}
	panic(fmt.Sprintf("a %T", v))
}

func pbFields(m map[string]any) map[string]*pb.Value {
	out := make(map[string]*pb.Value)
	for k, v := range m {
		out[k] = pbValue(v)
	}
	return out
}

func answerOf(outbox, id string, fields map[string]any) *pb.RunQueryResponse {
	at := time.Unix(1_750_000_000, 123_456_000)
	return &pb.RunQueryResponse{ReadTime: timestamppb.New(at.Add(time.Second)), Document: &pb.Document{
		Name: database + "/documents/" + outbox + "/" + id, Fields: pbFields(fields),
		CreateTime: timestamppb.New(at), UpdateTime: timestamppb.New(at.Add(time.Millisecond)),
	}}
}

// taken has a page take in an answer.
func taken(t interface{ Fatal(...any) }, from *dlqfirestore.Client, outbox string, encoded []byte) (relay.Doc, bool) {
	p := page{from: from, outbox: outbox, parent: []byte(database + "/documents/" + outbox + "/")}
	if err := p.take(encoded); err != nil {
		return relay.Doc{}, false
	}
	if p.failed != nil || len(p.docs) != 1 {
		t.Fatal(p.failed, len(p.docs))
	}
	return p.docs[0], true
}

func defaultCatalog(t testing.TB) *contracts.Catalog {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// agree wants of a document that its record, if it has one, is what its fields say,
// and that it looks otherwise as the SDK has it. It returns whether the record was
// taken without its fields.
func agree(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, catalog *contracts.Catalog, from *dlqfirestore.Client, outbox string, encoded []byte,
) bool {
	t.Helper()
	var answer pb.RunQueryResponse
	if err := proto.Unmarshal(encoded, &answer); err != nil {
		t.Fatal(err)
	}
	snap, err := from.Snapshot(&answer)
	if err != nil {
		t.Fatal(err)
	}
	want := document(snap, snap.ReadTime)
	got, ok := taken(t, from, outbox, encoded)
	if !ok {
		t.Fatal("not taken")
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(relay.Doc{}, "Content", "Size")); diff != "" {
		t.Fatalf("the document (-want +got):\n%s", diff)
	}
	fields, wantPanic := tried(want.Fields)
	gotFields, gotPanic := tried(got.Fields)
	if !alike(fields, gotFields) || wantPanic != gotPanic {
		t.Fatalf("the fields: panic %v, want %v (-want +got):\n%s", gotPanic, wantPanic, cmp.Diff(fields, gotFields, plainly...))
	}
	if parts, gotParts := want.Parts(), got.Parts(); !alike(parts, gotParts) {
		t.Fatalf("the parts (-want +got):\n%s", cmp.Diff(parts, gotParts, plainly...))
	}
	plain := got.Record()
	if plain == nil {
		return false
	}
	rec, faults := contracts.DecodeRecord(outbox, want.ID, fields)
	if wantPanic || len(faults) > 0 {
		t.Fatalf("plain with faults: %v", faults)
	}
	fast := *plain
	if diff := cmp.Diff(rec, &fast, cmpopts.IgnoreFields(contracts.Record{}, "Payload", "PayloadJSON", "Fields")); diff != "" {
		t.Fatalf("the record (-want +got):\n%s", diff)
	}
	wantChecked, checked := catalog.Check(rec, nil), catalog.Check(&fast, nil)
	if diff := cmp.Diff(wantChecked, checked, cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(&contracts.EventRoute{})); diff != "" && len(wantChecked.Faults)+len(checked.Faults) == 0 {
		t.Fatalf("the verdict (-want +got):\n%s", diff)
	}
	if (len(wantChecked.Faults) > 0) != (len(checked.Faults) > 0) || checked.Route != wantChecked.Route {
		t.Fatalf("faults %v, want %v", checked.Faults, wantChecked.Faults)
	}
	wantEnvelope, wantErr := contracts.MarshalEnvelope(rec)
	envelope, err := contracts.MarshalEnvelope(&fast)
	if wantErr != nil || err != nil || string(envelope) != string(wantEnvelope) {
		t.Fatalf("%v, want %v:\n%s\n%s", err, wantErr, envelope, wantEnvelope)
	}
	return true
}

// plainly compares fields by what they say.
var plainly = []cmp.Option{cmpopts.EquateNaNs(), cmpopts.EquateEmpty()}

// alike is cmp.Equal of fields, plainly. cmp compares what is in a list several times,
// and so what lies in twenty of them without end; this does it once.
func alike(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if other, ok := b[name]; !ok || !alike(v, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, alike)
	default:
		return cmp.Equal(a, b, plainly...)
	}
}

func tried(f func() map[string]any) (m map[string]any, panicked bool) {
	defer func() {
		if recover() != nil {
			panicked = true
		}
	}()
	return f(), false
}

// samples are records of every event of the catalog.
func samples(t testing.TB, catalog *contracts.Catalog) []*contracts.Record {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var out []*contracts.Record
	for _, o := range catalog.Outboxes {
		for n := range 40 {
			out = append(out, catalog.Sample(random, o, "agg-ü<&>\u2028", int64(n), time.Unix(1_750_000_000, 5_000)))
		}
	}
	return out
}
