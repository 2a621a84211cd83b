package firestore

import (
	"math"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local/firestore/valuekey"
)

// transform is one field transform with its path read.
type transform struct {
	path fieldPath
	op   *pb.DocumentTransform_FieldTransform
}

func newTransforms(ops []*pb.DocumentTransform_FieldTransform) ([]transform, error) {
	if len(ops) > maxTransforms {
		return nil, status.Errorf(codes.InvalidArgument, "Too many field transforms on one document: at most %d are allowed.", maxTransforms)
	}
	out := make([]transform, len(ops))
	for i, op := range ops {
		path, err := parseNames(op.GetFieldPath())
		if err != nil {
			return nil, err
		}
		if err := checkTransform(op); err != nil {
			return nil, err
		}
		out[i] = transform{path, op}
	}
	return out, nil
}

func checkTransform(op *pb.DocumentTransform_FieldTransform) error {
	switch t := op.GetTransformType().(type) {
	case *pb.DocumentTransform_FieldTransform_SetToServerValue:
		if t.SetToServerValue != pb.DocumentTransform_FieldTransform_REQUEST_TIME {
			return status.Error(codes.InvalidArgument, "Unknown server value in a field transform.")
		}
	case *pb.DocumentTransform_FieldTransform_Increment:
		return checkNumber(t.Increment)
	case *pb.DocumentTransform_FieldTransform_Maximum:
		return checkNumber(t.Maximum)
	case *pb.DocumentTransform_FieldTransform_Minimum:
		return checkNumber(t.Minimum)
	case *pb.DocumentTransform_FieldTransform_AppendMissingElements:
		return checkValue(op.GetFieldPath(), arrayValue(t.AppendMissingElements.GetValues()), 1, 0)
	case *pb.DocumentTransform_FieldTransform_RemoveAllFromArray:
		return checkValue(op.GetFieldPath(), arrayValue(t.RemoveAllFromArray.GetValues()), 1, 0)
	default:
		return status.Error(codes.InvalidArgument, "A field transform must name its operation.")
	}
	return nil
}

func checkNumber(v *pb.Value) error {
	if !isNumber(v) {
		return status.Error(codes.InvalidArgument, "The operand of a numeric field transform must be an integer or a double.")
	}
	return nil
}

// apply computes the field's next value and the result that the client is told:
// the new value of a numeric transform or of a server timestamp, null for arrays.
// A server timestamp is the commit's time cut to the millisecond, as on Firestore.
func (t transform) apply(current *pb.Value, at micros) (next, result *pb.Value) {
	switch op := t.op.GetTransformType().(type) {
	case *pb.DocumentTransform_FieldTransform_SetToServerValue:
		next = &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: (at - at%1000).proto()}}
	case *pb.DocumentTransform_FieldTransform_Increment:
		next = add(current, op.Increment)
	case *pb.DocumentTransform_FieldTransform_Maximum:
		next = extreme(current, op.Maximum, 1)
	case *pb.DocumentTransform_FieldTransform_Minimum:
		next = extreme(current, op.Minimum, -1)
	case *pb.DocumentTransform_FieldTransform_AppendMissingElements:
		values := append([]*pb.Value(nil), current.GetArrayValue().GetValues()...)
		for _, v := range op.AppendMissingElements.GetValues() {
			if !containsValue(values, v) {
				values = append(values, v)
			}
		}
		return arrayValue(values), nullValue
	case *pb.DocumentTransform_FieldTransform_RemoveAllFromArray:
		var values []*pb.Value
		for _, v := range current.GetArrayValue().GetValues() {
			if !containsValue(op.RemoveAllFromArray.GetValues(), v) {
				values = append(values, v)
			}
		}
		return arrayValue(values), nullValue
	}
	return next, next
}

var nullValue = &pb.Value{ValueType: &pb.Value_NullValue{}}

func arrayValue(values []*pb.Value) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: &pb.ArrayValue{Values: values}}}
}

func containsValue(values []*pb.Value, v *pb.Value) bool {
	for _, e := range values {
		if valuekey.Equal(e, v) {
			return true
		}
	}
	return false
}

func isNumber(v *pb.Value) bool {
	switch v.GetValueType().(type) {
	case *pb.Value_IntegerValue, *pb.Value_DoubleValue:
		return true
	}
	return false
}

func isNaN(v *pb.Value) bool {
	d, ok := v.GetValueType().(*pb.Value_DoubleValue)
	return ok && math.IsNaN(d.DoubleValue)
}

// add keeps integers integer, stopping at the ends of their range; a field that
// holds no number starts at the operand.
func add(current, operand *pb.Value) *pb.Value {
	if !isNumber(current) {
		return operand
	}
	a, integers := current.GetValueType().(*pb.Value_IntegerValue)
	b, both := operand.GetValueType().(*pb.Value_IntegerValue)
	if !integers || !both {
		return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: number(current) + number(operand)}}
	}
	sum := a.IntegerValue + b.IntegerValue
	switch {
	case b.IntegerValue > 0 && sum < a.IntegerValue:
		sum = math.MaxInt64
	case b.IntegerValue < 0 && sum > a.IntegerValue:
		sum = math.MinInt64
	}
	return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: sum}}
}

// extreme keeps the current value when the two are equal, and NaN over all else.
func extreme(current, operand *pb.Value, sign int) *pb.Value {
	switch {
	case !isNumber(current), isNaN(operand):
		return operand
	case isNaN(current), valuekey.Compare(operand, current)*sign <= 0:
		return current
	}
	return operand
}

func number(v *pb.Value) float64 {
	if i, ok := v.GetValueType().(*pb.Value_IntegerValue); ok {
		return float64(i.IntegerValue)
	}
	return v.GetDoubleValue()
}
