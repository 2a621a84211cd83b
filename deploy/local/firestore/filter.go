package firestore

import (
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"outboxrelay/deploy/local/firestore/valuekey"
)

// filter decides whether a document belongs to a query.
type filter interface{ matches(d *reader) bool }

type allOf []filter

func (f allOf) matches(d *reader) bool {
	for _, g := range f {
		if !g.matches(d) {
			return false
		}
	}
	return true
}

type anyOf []filter

func (f anyOf) matches(d *reader) bool {
	return slices.ContainsFunc(f, func(g filter) bool { return g.matches(d) })
}

// unary is a filter without an operand.
type unary struct {
	path fieldPath
	op   pb.StructuredQuery_UnaryFilter_Operator
}

func (f unary) matches(d *reader) bool {
	v := d.get(f.path)
	if v == nil {
		return false
	}
	switch f.op {
	case pb.StructuredQuery_UnaryFilter_IS_NULL:
		return isNull(v)
	case pb.StructuredQuery_UnaryFilter_IS_NOT_NULL:
		return !isNull(v)
	case pb.StructuredQuery_UnaryFilter_IS_NAN:
		return isNaN(v)
	default: // IS_NOT_NAN
		return !isNaN(v) && !isNull(v)
	}
}

// compares is a filter with one operand.
type compares struct {
	path  fieldPath
	op    pb.StructuredQuery_FieldFilter_Operator
	value *pb.Value
	key   string   // of value
	keys  []string // of value's elements, for in, not-in and array-contains-any
}

func (f *compares) matches(d *reader) bool {
	v := d.get(f.path)
	if v == nil {
		return false
	}
	switch f.op {
	case pb.StructuredQuery_FieldFilter_EQUAL:
		return d.keyOf(v) == f.key
	case pb.StructuredQuery_FieldFilter_NOT_EQUAL:
		return !isNull(v) && d.keyOf(v) != f.key
	case pb.StructuredQuery_FieldFilter_IN:
		return slices.Contains(f.keys, d.keyOf(v))
	case pb.StructuredQuery_FieldFilter_NOT_IN:
		return !isNull(v) && !slices.Contains(f.keys, d.keyOf(v))
	case pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS:
		return slices.ContainsFunc(v.GetArrayValue().GetValues(), func(e *pb.Value) bool { return d.keyOf(e) == f.key })
	case pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		return slices.ContainsFunc(v.GetArrayValue().GetValues(), func(e *pb.Value) bool { return slices.Contains(f.keys, d.keyOf(e)) })
	}
	key := d.keyOf(v)
	if key[0] != f.key[0] || isNaN(v) != isNaN(f.value) {
		return false // an inequality holds within one type
	}
	switch f.op {
	case pb.StructuredQuery_FieldFilter_LESS_THAN:
		return key < f.key
	case pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL:
		return key <= f.key
	case pb.StructuredQuery_FieldFilter_GREATER_THAN:
		return key > f.key
	default: // GREATER_THAN_OR_EQUAL
		return key >= f.key
	}
}

func isNull(v *pb.Value) bool {
	_, ok := v.GetValueType().(*pb.Value_NullValue)
	return ok
}

// reader looks up a record's fields for any number of filters and orders, and
// decodes each field at most once. It is reused from record to record.
type reader struct {
	database string
	rec      *record
	fields   fieldList
	name     *pb.Value
	scratch  []byte
}

// reset turns to another record, which may be nil.
func (d *reader) reset(r *record) {
	d.rec, d.name = r, nil
	if r == nil {
		d.fields = d.fields[:0]
		return
	}
	d.fields = parseFields(r.fields, d.fields)
}

func (d *reader) get(path fieldPath) *pb.Value {
	if path.isName() {
		if d.name == nil {
			d.name = &pb.Value{ValueType: &pb.Value_ReferenceValue{ReferenceValue: d.database + "/documents/" + d.rec.path}}
		}
		return d.name
	}
	return d.fields.get(path)
}

// keyOf is v's key, valid until the next call.
func (d *reader) keyOf(v *pb.Value) string {
	d.scratch = valuekey.Append(d.scratch[:0], v)
	return bytesString(d.scratch)
}
