package valuekey_test

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"outboxrelay/deploy/local/firestore/valuekey"
)

func null() *pb.Value          { return &pb.Value{ValueType: &pb.Value_NullValue{}} }
func boolean(b bool) *pb.Value { return &pb.Value{ValueType: &pb.Value_BooleanValue{BooleanValue: b}} }

func integer(i int64) *pb.Value { return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: i}} }

func double(d float64) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: d}}
}
func text(s string) *pb.Value { return &pb.Value{ValueType: &pb.Value_StringValue{StringValue: s}} }
func blob(s string) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_BytesValue{BytesValue: []byte(s)}}
}

func moment(t time.Time) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: timestamppb.New(t)}}
}

func reference(s string) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_ReferenceValue{ReferenceValue: s}}
}

func geo(lat, lng float64) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_GeoPointValue{GeoPointValue: &latlng.LatLng{Latitude: lat, Longitude: lng}}}
}

func array(vs ...*pb.Value) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: &pb.ArrayValue{Values: vs}}}
}

func object(fields map[string]*pb.Value) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: fields}}}
}

func vector(ds ...float64) *pb.Value {
	var vs []*pb.Value
	for _, d := range ds {
		vs = append(vs, double(d))
	}
	return object(map[string]*pb.Value{"__type__": text("__vector__"), "value": array(vs...)})
}

// ordered is Firestore's order, written down.
var ordered = []*pb.Value{
	null(), boolean(false), boolean(true),
	double(math.NaN()), double(math.Inf(-1)), double(-math.MaxFloat64), integer(math.MinInt64), integer(math.MinInt64 + 1),
	double(-1.5), integer(-1), double(-math.SmallestNonzeroFloat64), integer(0), double(math.SmallestNonzeroFloat64), double(0.5),
	integer(1), double(1.5), integer(1<<53 - 1), integer(1 << 53), integer(1<<53 + 1), double(1<<53 + 2), integer(1<<53 + 3),
	integer(math.MaxInt64 - 1), integer(math.MaxInt64), double(1 << 63), double(math.MaxFloat64), double(math.Inf(1)),
	moment(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)), moment(time.Unix(-1, 0)), moment(time.Unix(0, 0)), moment(time.Unix(0, 1000)), moment(time.Unix(1, 0)),
	text(""), text("\x00"), text("\x00\x01"), text("\x00a"), text("\x01"), text("a"), text("a\x00"), text("a\x00b"), text("aa"), text("b"), text("é"), text("\U0001F600"),
	blob(""), blob("\x00"), blob("\x00\xff"), blob("a"), blob("\xff"), blob("\xff\xff"),
	reference("projects/p/databases/d/documents/a/b"), reference("projects/p/databases/d/documents/a/b/c/d"), reference("projects/p/databases/d/documents/a/b-c"), reference("projects/p/databases/d/documents/b/a"),
	geo(-90, 0), geo(0, -1), geo(0, 1), geo(1, -180),
	array(), array(null()), array(integer(1)), array(integer(1), integer(0)), array(integer(2)), array(text("a")), array(object(nil)),
	vector(1), vector(2), vector(0, 0),
	object(nil), object(map[string]*pb.Value{"a": integer(1)}), object(map[string]*pb.Value{"a": integer(1), "b": null()}),
	object(map[string]*pb.Value{"a": integer(2)}), object(map[string]*pb.Value{"b": null()}),
}

func TestOrder(t *testing.T) {
	for i, a := range ordered {
		for j, b := range ordered {
			want := min(max(i-j, -1), 1)
			if got := valuekey.Compare(a, b); got != want {
				t.Errorf("compare %v with %v: want %d, got %d", a, b, want, got)
			}
			x, y := valuekey.Append(nil, a), valuekey.Append(nil, b)
			valuekey.Invert(x)
			valuekey.Invert(y)
			if got := bytes.Compare(x, y); got != -want {
				t.Errorf("compare inverted %v with %v: want %d, got %d", a, b, -want, got)
			}
			if i != j && bytes.HasPrefix(x, y) {
				t.Errorf("the key of %v begins with that of %v", a, b)
			}
		}
	}
}

func TestEqual(t *testing.T) {
	for _, pair := range [][2]*pb.Value{
		{integer(1), double(1)},
		{integer(0), double(math.Copysign(0, -1))},
		{double(math.NaN()), double(-math.NaN())},
		{integer(1 << 60), double(1 << 60)},
		{array(integer(1)), array(double(1))},
	} {
		if !valuekey.Equal(pair[0], pair[1]) {
			t.Errorf("want %v and %v to be equal", pair[0], pair[1])
		}
	}
}

func TestBounds(t *testing.T) {
	for _, v := range ordered {
		key := valuekey.Append(nil, v)
		below, above := valuekey.TypeBounds(v)
		if key[0] <= below || key[0] >= above {
			t.Errorf("%v is not within the bounds of its type", v)
		}
		if first := key[0]; first == 0 || first == 0xFF || ^first == 0 || ^first == 0xFF {
			t.Errorf("the key of %v begins with %#x, which bounds use", v, first)
		}
	}
}

// TestColumns lays keys end to end, some inverted, as an index does.
func TestColumns(t *testing.T) {
	values := rapid.SampledFrom(ordered)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "columns")
		descending := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "descending")
		a, b := rapid.SliceOfN(values, n, n).Draw(t, "a"), rapid.SliceOfN(values, n, n).Draw(t, "b")
		row := func(vs []*pb.Value) (key []byte) {
			for i, v := range vs {
				start := len(key)
				if key = valuekey.Append(key, v); descending[i] {
					valuekey.Invert(key[start:])
				}
			}
			return key
		}
		want := 0
		for i := range n {
			if want = valuekey.Compare(a[i], b[i]); want != 0 {
				if descending[i] {
					want = -want
				}
				break
			}
		}
		if got := bytes.Compare(row(a), row(b)); got != want {
			t.Fatalf("want %d, got %d", want, got)
		}
	})
}

// TestNumbers compares mixed numbers with exact arithmetic.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		if got, want := valuekey.Compare(integer(a), integer(b)), slices.Compare([]int64{a}, []int64{b}); got != want {
			t.Fatalf("integers: want %d, got %d", want, got)
		}
		x, y := rapid.Float64().Draw(t, "x"), rapid.Float64().Draw(t, "y")
		if got, want := valuekey.Compare(double(x), double(y)), slices.Compare([]float64{x}, []float64{y}); got != want {
			t.Fatalf("doubles: want %d, got %d", want, got)
		}
	})
}
