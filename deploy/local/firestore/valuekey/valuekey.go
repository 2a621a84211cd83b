// Package valuekey turns Firestore values into byte strings whose plain byte
// order is Firestore's order of values, across types.
//
// Null sorts before booleans, then numbers (integers and doubles together, NaN
// first), timestamps, strings, bytes, references, geographical points, arrays,
// vectors and maps. Two values have the same key exactly when Firestore calls
// them equal, so 1 and 1.0 share one.
//
// Every key ends itself: no key is a prefix of another. Keys can therefore be
// laid end to end, and inverting a key's bytes reverses its order. No key, as it
// stands or inverted, begins with 0x00 or 0xFF; callers use these two bytes as
// bounds below and above every continuation of a prefix.
package valuekey

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// The type tags, spaced so that a bound can stand between two of them.
const (
	tagNull      = 0x10
	tagBool      = 0x18
	tagNumber    = 0x20
	tagTimestamp = 0x28
	tagString    = 0x30
	tagBytes     = 0x38
	tagReference = 0x40
	tagGeoPoint  = 0x48
	tagArray     = 0x50
	tagVector    = 0x58
	tagMap       = 0x60
)

// Below a component's first byte: the end of an array, a vector or a map.
const (
	end   = 0x00
	entry = 0x01
)

// Append adds the key of v to dst. A value without a type counts as null.
func Append(dst []byte, v *pb.Value) []byte {
	switch t := v.GetValueType().(type) {
	case *pb.Value_BooleanValue:
		if t.BooleanValue {
			return append(dst, tagBool, 1)
		}
		return append(dst, tagBool, 0)
	case *pb.Value_IntegerValue:
		return appendInteger(append(dst, tagNumber), t.IntegerValue)
	case *pb.Value_DoubleValue:
		return appendResidual(appendDouble(append(dst, tagNumber), t.DoubleValue), 0)
	case *pb.Value_TimestampValue:
		dst = binary.BigEndian.AppendUint64(append(dst, tagTimestamp), uint64(t.TimestampValue.GetSeconds())^1<<63)
		return binary.BigEndian.AppendUint32(dst, uint32(t.TimestampValue.GetNanos()))
	case *pb.Value_StringValue:
		return appendText(append(dst, tagString), t.StringValue)
	case *pb.Value_BytesValue:
		return appendText(append(dst, tagBytes), string(t.BytesValue))
	case *pb.Value_ReferenceValue:
		return appendPath(append(dst, tagReference), t.ReferenceValue)
	case *pb.Value_GeoPointValue:
		dst = appendDouble(append(dst, tagGeoPoint), t.GeoPointValue.GetLatitude())
		return appendDouble(dst, t.GeoPointValue.GetLongitude())
	case *pb.Value_ArrayValue:
		return appendElements(append(dst, tagArray), t.ArrayValue.GetValues())
	case *pb.Value_MapValue:
		if elements, ok := Vector(v); ok {
			dst = binary.BigEndian.AppendUint32(append(dst, tagVector), uint32(len(elements)))
			return appendElements(dst, elements)
		}
		return appendMap(append(dst, tagMap), t.MapValue.GetFields())
	default:
		return append(dst, tagNull)
	}
}

// AppendName adds the key of a document's name, given as its path below the
// database's root. It orders as __name__ does.
func AppendName(dst []byte, path string) []byte {
	return appendPath(append(dst, tagReference), path)
}

// Invert reverses the order of the key that b holds, in place.
func Invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// TypeBounds are the keys just below and just above all values of v's type:
// an inequality compares values of one type alone.
func TypeBounds(v *pb.Value) (below, above byte) {
	var scratch [64]byte
	tag := Append(scratch[:0], v)[0]
	return tag - 1, tag + 1
}

// Equal reports whether Firestore calls a and b equal.
func Equal(a, b *pb.Value) bool { return Compare(a, b) == 0 }

// Compare orders a and b across all types.
func Compare(a, b *pb.Value) int {
	if x, ok := a.GetValueType().(*pb.Value_StringValue); ok {
		if y, ok := b.GetValueType().(*pb.Value_StringValue); ok {
			return strings.Compare(x.StringValue, y.StringValue)
		}
	}
	var x, y [96]byte
	return slices.Compare(Append(x[:0], a), Append(y[:0], b))
}

// Vector returns the elements of a vector embedding, which travels as a map with
// a type mark.
func Vector(v *pb.Value) ([]*pb.Value, bool) {
	fields := v.GetMapValue().GetFields()
	if fields["__type__"].GetStringValue() != "__vector__" {
		return nil, false
	}
	return fields["value"].GetArrayValue().GetValues(), true
}

// appendInteger writes the nearest double and how far the integer is from it, so
// that integers beyond 2^53 keep their order among themselves and among doubles.
func appendInteger(dst []byte, i int64) []byte {
	d := float64(i)
	dst = appendDouble(dst, d)
	if d >= 1<<63 { // i rounded up, out of int64
		return appendResidual(dst, int16(i-math.MaxInt64)-1)
	}
	return appendResidual(dst, int16(i-int64(d)))
}

func appendResidual(dst []byte, r int16) []byte {
	return binary.BigEndian.AppendUint16(dst, uint16(r)^1<<15)
}

// appendDouble writes 8 bytes that order as doubles do; NaN is the least, and the
// two zeros are one.
func appendDouble(dst []byte, d float64) []byte {
	if math.IsNaN(d) {
		return append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	if d == 0 {
		d = 0
	}
	bits := math.Float64bits(d)
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, bits)
}

// appendText ends s with 00 01 and writes a zero byte within it as 00 FF.
func appendText(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			return append(append(dst, s...), 0, 1)
		}
		dst = append(append(dst, s[:i]...), 0, 0xFF)
		s = s[i+1:]
	}
}

// appendPath orders by segments, a parent before its children.
func appendPath(dst []byte, path string) []byte {
	for path != "" {
		var segment string
		segment, path, _ = strings.Cut(path, "/")
		dst = appendText(dst, segment)
	}
	return append(dst, 0, 0)
}

func appendElements(dst []byte, values []*pb.Value) []byte {
	for _, v := range values {
		dst = Append(dst, v)
	}
	return append(dst, end)
}

func appendMap(dst []byte, fields map[string]*pb.Value) []byte {
	keys := make([]string, 0, len(fields))
	for k := range fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		dst = Append(appendText(append(dst, entry), k), fields[k])
	}
	return append(dst, end)
}
