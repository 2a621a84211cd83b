package firestore

import (
	"math"
	"unicode/utf8"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Firestore's documented limits.
const (
	maxDocument   = 1 << 20          // bytes, as checkSize counts them
	maxText       = maxDocument - 89 // bytes of one string or byte value
	maxRequest    = 10 << 20         // bytes
	maxDepth      = 20               // maps and arrays within one another
	maxTransforms = 500              // of one document in one commit
	maxPath       = 1500             // bytes of the names that lead to a value, joined by dots
)

// checkRequest refuses a request that production would not read.
func checkRequest(m proto.Message) error {
	if proto.Size(m) > maxRequest {
		return status.Errorf(codes.InvalidArgument, "Request payload size exceeds the limit: %d bytes.", maxRequest)
	}
	return nil
}

// checkFields holds a document's values to the rules that depend on them alone,
// and cuts timestamps to the precision that is stored.
func checkFields(fields map[string]*pb.Value) error {
	for name, v := range fields {
		if err := checkFieldName(name); err != nil {
			return err
		}
		if err := checkValue(name, v, 1, len(name)); err != nil {
			return err
		}
	}
	return nil
}

func checkFieldName(name string) error {
	switch {
	case name == "":
		return status.Error(codes.InvalidArgument, "A property name must not be empty.")
	case len(name) > maxID:
		return status.Errorf(codes.InvalidArgument, "The property name is longer than %d bytes.", maxID)
	case reserved(name):
		return status.Errorf(codes.InvalidArgument, "The property name %q is reserved.", clip(name))
	}
	return nil
}

// checkValue checks a value within the field given, depth levels down and at a path of so
// many bytes, in which arrays take none.
func checkValue(field string, v *pb.Value, depth, path int) error {
	switch t := v.GetValueType().(type) {
	case nil:
		return status.Error(codes.InvalidArgument, "Value type is not set.")
	case *pb.Value_TimestampValue:
		ts := t.TimestampValue
		if err := ts.CheckValid(); err != nil {
			return status.Error(codes.InvalidArgument, "Timestamp is out of range.")
		}
		ts.Nanos -= ts.Nanos % 1000
	case *pb.Value_GeoPointValue:
		if lat, lng := t.GeoPointValue.GetLatitude(), t.GeoPointValue.GetLongitude(); !(math.Abs(lat) <= 90 && math.Abs(lng) <= 180) {
			return status.Error(codes.InvalidArgument, "Geographical point is out of range.")
		}
	case *pb.Value_ReferenceValue:
		if _, _, err := splitDocumentName(t.ReferenceValue); err != nil {
			return err
		}
	case *pb.Value_StringValue:
		if !utf8.ValidString(t.StringValue) {
			return status.Error(codes.InvalidArgument, "String is not valid UTF-8.")
		}
		return checkText(field, len(t.StringValue))
	case *pb.Value_BytesValue:
		return checkText(field, len(t.BytesValue))
	case *pb.Value_ArrayValue:
		if err := checkNesting(field, depth); err != nil {
			return err
		}
		for _, e := range t.ArrayValue.GetValues() {
			if e.GetArrayValue() != nil {
				return status.Error(codes.InvalidArgument, "Cannot convert an array value in an array value.")
			}
			if err := checkValue(field, e, depth+1, path); err != nil {
				return err
			}
		}
	case *pb.Value_MapValue:
		if err := checkNesting(field, depth); err != nil {
			return err
		}
		vector := isVector(v)
		for name, e := range t.MapValue.GetFields() {
			if err := checkFieldName(name); err != nil && !vector {
				return err
			}
			inner := path + len(".") + len(name)
			if inner > maxPath {
				return invalidNested(field)
			}
			if err := checkValue(field, e, depth+1, inner); err != nil {
				return err
			}
		}
	case *pb.Value_FieldReferenceValue, *pb.Value_FunctionValue, *pb.Value_PipelineValue, *pb.Value_VariableReferenceValue:
		return status.Error(codes.InvalidArgument, "Value type is for pipelines alone.")
	}
	return nil
}

func checkText(field string, size int) error {
	if size > maxText {
		return status.Errorf(codes.InvalidArgument, "The value of property %q is longer than %d bytes.", clip(field), maxText)
	}
	return nil
}

func isVector(v *pb.Value) bool {
	return v.GetMapValue().GetFields()["__type__"].GetStringValue() == "__vector__"
}

func checkNesting(field string, depth int) error {
	if depth > maxDepth {
		return invalidNested(field)
	}
	return nil
}

func invalidNested(field string) error {
	return status.Errorf(codes.InvalidArgument, "Property %s contains an invalid nested entity.", clip(field))
}

// checkSize refuses a document over the limit. Bytes as they are stored are at
// least half of what Firestore counts, so that most documents need no counting.
func checkSize(name string, fields []byte) error {
	if len(fields) < maxDocument/2-maxID {
		return nil
	}
	size := nameSize(name) + 32
	for _, f := range parseFields(fields, nil) {
		size += len(f.name) + 1 + valueSize(f.value())
	}
	if size > maxDocument {
		return status.Errorf(codes.InvalidArgument,
			"Document '%s' cannot be written because its size (%s bytes) exceeds the maximum allowed size of %s bytes.",
			clip(name), grouped(size), grouped(maxDocument))
	}
	return nil
}

// nameSize counts each segment of the path below the root, and 16 for the name.
func nameSize(name string) int {
	_, path, err := splitName(name)
	if err != nil {
		path = name
	}
	return len(path) + 1 + 16 // each slash stands for the byte that its segment costs
}

func valueSize(v *pb.Value) int {
	switch t := v.GetValueType().(type) {
	case *pb.Value_IntegerValue, *pb.Value_DoubleValue, *pb.Value_TimestampValue:
		return 8
	case *pb.Value_StringValue:
		return len(t.StringValue) + 1
	case *pb.Value_BytesValue:
		return len(t.BytesValue)
	case *pb.Value_ReferenceValue:
		return nameSize(t.ReferenceValue)
	case *pb.Value_GeoPointValue:
		return 16
	case *pb.Value_ArrayValue:
		n := 0
		for _, e := range t.ArrayValue.GetValues() {
			n += valueSize(e)
		}
		return n
	case *pb.Value_MapValue:
		n := 0
		for name, e := range t.MapValue.GetFields() {
			n += len(name) + 1 + valueSize(e)
		}
		return n
	default: // null, boolean
		return 1
	}
}

// grouped writes n with commas between thousands.
func grouped(n int) string {
	if n < 1000 {
		return string(appendDigits(nil, n, 1))
	}
	return grouped(n/1000) + "," + string(appendDigits(nil, n%1000, 3))
}

func appendDigits(b []byte, n, width int) []byte {
	if n >= 10 || width > 1 {
		b = appendDigits(b, n/10, width-1)
	}
	return append(b, byte('0'+n%10))
}
