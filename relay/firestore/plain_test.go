package firestore

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// Every record that the catalog's producers write is decoded without its fields.
func TestSoundRecordsArePlain(t *testing.T) {
	catalog, from := defaultCatalog(t), nowhere(t)
	for _, r := range samples(t, catalog) {
		fields := r.ProducerFields()
		fields[contracts.FieldAttempts], fields[contracts.FieldShard] = int64(0), int64(3)
		fields[contracts.FieldPayload].(map[string]any)["extra"] = map[string]any{"": []any{nil, true, 1.5, -7.0, 1e21, []any{}, map[string]any{}, []byte("x"), time.Unix(1, 2).UTC()}}
		for _, f := range []map[string]any{r.ProducerFields(), fields} {
			answer := answerOf(r.Outbox, r.ID, f)
			encoded, err := proto.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			if !agree(t, catalog, from, r.Outbox, encoded) {
				t.Errorf("%s is not plain: %v", r.EventType, f)
			}
		}
	}
}

// anyValue is a value of any type that Firestore has.
func anyValue() *rapid.Generator[*pb.Value] {
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "pending", "retrying", "CRITICAL_LANE", "<&>\"\\\x00\x7f\u2028", "__vector__", "7e1c1ba7-8f6c-4a53-9f7c-9d6a7b6c5d4e"}))
	keys := rapid.OneOf(texts, rapid.SampledFrom([]string{"a", "b", "__type__", "value", "__int__", "__x", "ü"}))
	times := rapid.Custom(func(t *rapid.T) *timestamppb.Timestamp {
		return &timestamppb.Timestamp{
			Seconds: rapid.OneOf(rapid.Int64Range(-62135596801, 253402300800), rapid.Just(int64(0))).Draw(t, "seconds"),
			Nanos:   rapid.OneOf(rapid.Int32Range(0, 999_999_999), rapid.SampledFrom([]int32{-1, 1e9})).Draw(t, "nanos"),
		}
	})
	leaf := rapid.OneOf(
		rapid.Map(texts, text), rapid.Map(texts, text),
		rapid.Map(rapid.Int64(), func(n int64) *pb.Value { return pbValue(n) }),
		rapid.Map(rapid.Float64(), func(f float64) *pb.Value { return pbValue(f) }),
		rapid.Map(rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Copysign(0, -1), 1e20, 1e21, 1e-6, 1e-7, 3}), func(f float64) *pb.Value { return pbValue(f) }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) *pb.Value { return pbValue(b) }),
		rapid.Map(times, func(at *timestamppb.Timestamp) *pb.Value {
			return &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: at}}
		}),
		rapid.SampledFrom([]*pb.Value{
			pbValue(nil), pbValue(true), pbValue(false),
			{},
			pbValue([]any{}), pbValue(map[string]any{}),
			{ValueType: &pb.Value_ReferenceValue{ReferenceValue: database + "/documents/c/d"}},
			{ValueType: &pb.Value_ReferenceValue{ReferenceValue: "x"}},
			{ValueType: &pb.Value_GeoPointValue{GeoPointValue: &latlng.LatLng{Latitude: 1}}},
			{ValueType: &pb.Value_MapValue{}},
			{ValueType: &pb.Value_ArrayValue{}},
		}),
	)
	var value func(depth int) *rapid.Generator[*pb.Value]
	value = func(depth int) *rapid.Generator[*pb.Value] {
		if depth == 0 {
			return leaf
		}
		below := value(depth - 1)
		return rapid.OneOf(leaf, leaf,
			rapid.Map(rapid.SliceOfN(below, 0, 4), func(vs []*pb.Value) *pb.Value {
				return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: &pb.ArrayValue{Values: vs}}}
			}),
			rapid.Map(rapid.MapOfN(keys, below, 0, 5), func(m map[string]*pb.Value) *pb.Value {
				return &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: m}}}
			}))
	}
	return rapid.Custom(func(t *rapid.T) *pb.Value {
		v := value(3).Draw(t, "value")
		for range rapid.SampledFrom([]int{0, 0, 0, 17, 19, 20, 21, 25}).Draw(t, "deeper") {
			if rapid.Bool().Draw(t, "in a list") {
				v = pbValue([]any{v})
			} else {
				v = pbValue(map[string]any{"in": v})
			}
		}
		return v
	})
}

// Whatever a document holds, its record is what its fields say, or it has none.
func TestPlainRecordsAreWhatTheirFieldsSay(t *testing.T) {
	catalog, from := defaultCatalog(t), nowhere(t)
	sound, values := samples(t, catalog), anyValue()
	plain, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(sound).Draw(t, "record")
		fields := r.ProducerFields()
		payload := maps.Clone(r.Payload)
		fields[contracts.FieldPayload] = payload
		for range rapid.IntRange(0, 2).Draw(t, "changes in the payload") {
			names := append(slices.Sorted(maps.Keys(payload)), "new", "amount", "__type__")
			payload[rapid.SampledFrom(names).Draw(t, "name")] = values.Draw(t, "in the payload")
		}
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "changes") {
			names := append(slices.Sorted(maps.Keys(fields)), contracts.RecordFields()...)
			names = append(names, contracts.FieldAttemptErrors, relay.FieldCanary, "extra")
			name := rapid.SampledFrom(names).Draw(t, "field")
			if rapid.Bool().Draw(t, "left out") {
				delete(fields, name)
			} else {
				fields[name] = values.Draw(t, "value")
			}
		}
		answer := answerOf(r.Outbox, r.ID, fields)
		encoded, err := proto.Marshal(answer)
		if err != nil {
			return // not UTF-8: no server sends it
		}
		all++
		if agree(t, catalog, from, r.Outbox, encoded) {
			plain++
		}
	})
	if plain == 0 || plain == all {
		t.Errorf("%d of %d are plain: nothing is compared", plain, all)
	}
}

// Bytes that no server sends fail the page, or are a document that cannot be decoded.
func TestBrokenAnswers(t *testing.T) {
	catalog, from := defaultCatalog(t), nowhere(t)
	r := samples(t, catalog)[0]
	encoded, err := proto.Marshal(answerOf(r.Outbox, r.ID, r.ProducerFields()))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		broken := slices.Clone(encoded)
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			i := rapid.IntRange(0, len(broken)-1).Draw(t, "place")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				broken[i] = rapid.Byte().Draw(t, "byte")
			case 1:
				broken = slices.Insert(broken, i, rapid.Byte().Draw(t, "byte"))
			default:
				broken = broken[:i+1]
			}
		}
		p := page{from: from, outbox: r.Outbox, parent: []byte(database + "/documents/" + r.Outbox + "/")}
		err := p.take(broken)
		var answer pb.RunQueryResponse
		wantErr := proto.Unmarshal(broken, &answer)
		if err != nil && wantErr == nil {
			t.Fatal(err)
		}
		if wantErr != nil {
			for _, d := range p.docs {
				if _, panicked := tried(d.Fields); !panicked || d.Record() != nil || len(d.Parts()) > 0 {
					t.Fatalf("decoded, want %v", wantErr)
				}
			}
			return
		}
		if answer.GetDocument() == nil {
			return
		}
		if _, err := from.Snapshot(&answer); err != nil {
			if p.failed == nil {
				t.Fatalf("taken, want %v", err)
			}
			return
		}
		agree(t, catalog, from, r.Outbox, broken)
	})
}

// BenchmarkPage decodes a page of 200 documents of 1 KiB, and judges its records.
func BenchmarkPage(b *testing.B) {
	catalog, from := defaultCatalog(b), nowhere(b)
	answers := make([][]byte, 200)
	o := catalog.Outbox("accOutbox")
	random := rand.New(rand.NewPCG(1, 2))
	for i := range answers {
		r := catalog.Sample(random, o, "acc-0001", int64(i), time.Unix(1_750_000_000, 0))
		r.Payload["note"] = strings.Repeat("a line of plain text. ", 38)
		var err error
		if answers[i], err = proto.Marshal(answerOf(r.Outbox, r.ID, r.ProducerFields())); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, encoded := range answers {
				var answer pb.RunQueryResponse
				if err := proto.Unmarshal(encoded, &answer); err != nil {
					b.Fatal(err)
				}
				snap, err := from.Snapshot(&answer)
				if err != nil {
					b.Fatal(err)
				}
				d := document(snap, snap.ReadTime)
				rec, faults := contracts.DecodeRecord("accOutbox", d.ID, d.Fields())
				if checked := catalog.Check(rec, faults); checked.Data == nil {
					b.Fatal(checked.Faults)
				}
			}
		}
	})
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p := page{from: from, outbox: "accOutbox", parent: []byte(database + "/documents/accOutbox/")}
			for _, encoded := range answers {
				if err := p.take(encoded); err != nil {
					b.Fatal(err)
				}
			}
			for _, d := range p.docs {
				if checked := catalog.Check(d.Record(), nil); checked.Data == nil {
					b.Fatal(checked.Faults)
				}
			}
		}
	})
}
