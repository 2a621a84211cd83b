package firestore

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"outboxrelay/dlq"
)

// value renders v, which lies at a path of its document; nil: within a list, in which
// Firestore knows no server time. It returns nil for what the server makes by itself,
// which becomes a transform.
func (f *fields) value(v any, at path) (*pb.Value, error) {
	switch v := v.(type) {
	case nil:
		return null, nil
	case bool:
		return &pb.Value{ValueType: &pb.Value_BooleanValue{BooleanValue: v}}, nil
	case int:
		return integer(int64(v)), nil
	case int64:
		return integer(v), nil
	case float64:
		return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: v}}, nil
	case string:
		return f.text(v), nil
	case time.Time:
		return f.time(v), nil
	case []byte:
		return &pb.Value{ValueType: &pb.Value_BytesValue{BytesValue: v}}, nil
	case []string:
		if v == nil {
			return null, nil
		}
		items := make([]*pb.Value, len(v))
		for i, s := range v {
			items[i] = f.text(s)
		}
		return array(items), nil
	case []any:
		return f.array(v)
	case map[string]any:
		return f.object(v, at)
	case dlq.ServerTime:
		if at == nil {
			return &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{}}}, nil
		}
		f.transforms = append(f.transforms, &pb.DocumentTransform_FieldTransform{
			FieldPath: at.String(),
			TransformType: &pb.DocumentTransform_FieldTransform_SetToServerValue{
				SetToServerValue: pb.DocumentTransform_FieldTransform_REQUEST_TIME,
			},
		})
		return nil, nil
	}
	return f.client.odd(v)
}

var null = &pb.Value{ValueType: &pb.Value_NullValue{}}

func integer(n int64) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: n}}
}

func array(items []*pb.Value) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: &pb.ArrayValue{Values: items}}}
}

// text shares the value of a string that the commit has had before: most marks of a
// batch say the same.
func (e *encoder) text(s string) *pb.Value {
	v := e.strings[s]
	if v == nil {
		v = &pb.Value{ValueType: &pb.Value_StringValue{StringValue: s}}
		if e.strings == nil {
			e.strings = make(map[string]*pb.Value)
		}
		if len(s) <= maxShared && len(e.strings) < maxShared {
			e.strings[s] = v
		}
	}
	return v
}

// maxShared bounds the values that a commit shares, and the bytes of one.
const maxShared = 64

func (e *encoder) time(t time.Time) *pb.Value {
	v := e.times[t]
	if v == nil {
		v = &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: timestamppb.New(t)}}
		if e.times == nil {
			e.times = make(map[time.Time]*pb.Value)
		}
		if len(e.times) < maxShared {
			e.times[t] = v
		}
	}
	return v
}

func (f *fields) array(list []any) (*pb.Value, error) {
	if list == nil {
		return null, nil
	}
	items := make([]*pb.Value, len(list))
	for i, item := range list {
		var err error
		if items[i], err = f.value(item, nil); err != nil {
			return nil, err
		}
	}
	return array(items), nil
}

// object renders a map. One of nothing but server times is no value.
func (f *fields) object(m map[string]any, at path) (*pb.Value, error) {
	if m == nil {
		return null, nil
	}
	within := make(map[string]*pb.Value, len(m))
	had := len(f.transforms)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v, err := f.value(m[name], at.below(name))
		if err != nil {
			return nil, err
		}
		if v != nil {
			within[name] = v
		}
	}
	if len(within) == 0 && len(f.transforms) > had {
		return nil, nil
	}
	return &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: within}}}, nil
}

// mapOf returns v's members, if it is a map.
func mapOf(v any) (map[string]any, bool) {
	if m, ok := v.(map[string]any); ok {
		return m, true
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Map || rv.Type().Key().Kind() != reflect.String {
		return nil, false
	}
	m := make(map[string]any, rv.Len())
	for k, item := range rv.Seq2() {
		m[k.String()] = item.Interface()
	}
	return m, true
}

// odd renders a value of any other type that the SDK knows: words and numbers with
// a type of their own, and what it reads of a document that has a reference, a
// place, a vector or a type of BSON. Only in a query does the SDK show what it makes
// of a value.
func (c *Client) odd(v any) (*pb.Value, error) {
	q, err := c.Collection("values").OrderBy("value", firestore.Asc).StartAt(v).Serialize()
	if err != nil {
		return nil, err
	}
	var req pb.RunQueryRequest
	if err := proto.Unmarshal(q, &req); err != nil {
		return nil, err
	}
	values := req.GetStructuredQuery().GetStartAt().GetValues()
	if len(values) != 1 {
		return nil, fmt.Errorf("a %T, which is no value", v)
	}
	return values[0], nil
}
