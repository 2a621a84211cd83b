package firestore

import (
	"math/big"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// total is the sum of numbers. Integers are summed exactly, however far they go on
// the way: only where the whole sum is no int64 does it become a double.
type total struct {
	integers big.Int
	doubles  float64
	n        int  // numbers
	inexact  bool // a double is among them
}

// sum adds up the numbers among a field's values.
func sum(field string, records []*record) (*total, error) {
	t := &total{}
	path, err := parseFieldPath(field)
	if err != nil {
		return t, err
	}
	var d reader
	for _, r := range records {
		d.reset(r)
		t.add(d.get(path))
	}
	return t, nil
}

// add takes in a value, unless it is no number.
func (t *total) add(v *pb.Value) {
	switch v := v.GetValueType().(type) {
	case *pb.Value_IntegerValue:
		t.integers.Add(&t.integers, big.NewInt(v.IntegerValue))
	case *pb.Value_DoubleValue:
		t.doubles += v.DoubleValue
		t.inexact = true
	default:
		return
	}
	t.n++
}

func (t *total) value() *pb.Value {
	if t.inexact || !t.integers.IsInt64() {
		return doubleValue(t.float())
	}
	return integerValue(t.integers.Int64())
}

func (t *total) float() float64 {
	integers, _ := t.integers.Float64()
	return integers + t.doubles
}

func doubleValue(d float64) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: d}}
}
