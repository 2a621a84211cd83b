package firestore

import (
	"math"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local/firestore/valuekey"
)

// Firestore's limits of what a query may ask for.
const (
	maxFilters = 100
	maxIn      = 30
	maxNotIn   = 10
	maxIndexed = 1500 // bytes of one value, as they count for a document's size
)

// operatorCounts is how often a query uses the operators that exclude one another.
// all is how many filters it has that are not composite, named how many compare the
// document's name for equality.
type operatorCounts struct{ all, notIn, notEqual, or, in, contains, named int }

func (n *operatorCounts) check() error {
	switch {
	case n.all > maxFilters:
		return status.Errorf(codes.InvalidArgument, "The query may not have more than %d filters.", maxFilters)
	case n.notIn+n.notEqual > 1:
		return status.Error(codes.InvalidArgument, "Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query.")
	case n.notIn > 0 && (n.or > 0 || n.in > 0):
		return status.Error(codes.InvalidArgument, "'NOT_IN' cannot be used in the same query with 'OR', 'IN' or 'ARRAY_CONTAINS_ANY'.")
	}
	return nil
}

var nanValue = &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: math.NaN()}}

func isRange(op pb.StructuredQuery_FieldFilter_Operator) bool {
	switch op {
	case pb.StructuredQuery_FieldFilter_LESS_THAN, pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL,
		pb.StructuredQuery_FieldFilter_GREATER_THAN, pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL:
		return true
	}
	return false
}

// check refuses a filter that Firestore would not run, and notes what it means
// for the implicit order.
func (c *compiler) check(f *pb.StructuredQuery_Filter) error {
	switch t := f.GetFilterType().(type) {
	case *pb.StructuredQuery_Filter_CompositeFilter:
		switch t.CompositeFilter.GetOp() {
		case pb.StructuredQuery_CompositeFilter_AND:
		case pb.StructuredQuery_CompositeFilter_OR:
			c.counts.or++
		default:
			return status.Error(codes.InvalidArgument, "A composite filter must be AND or OR.")
		}
		if len(t.CompositeFilter.GetFilters()) == 0 {
			return status.Error(codes.InvalidArgument, "A composite filter must have filters.")
		}
		for _, g := range t.CompositeFilter.GetFilters() {
			if err := c.check(g); err != nil {
				return err
			}
		}
		return nil
	case *pb.StructuredQuery_Filter_UnaryFilter:
		c.counts.all++
		return c.checkUnary(t.UnaryFilter)
	case *pb.StructuredQuery_Filter_FieldFilter:
		c.counts.all++
		return c.checkField(t.FieldFilter)
	}
	return status.Error(codes.InvalidArgument, "A filter must be set.")
}

func (c *compiler) checkUnary(f *pb.StructuredQuery_UnaryFilter) error {
	path, err := parseFieldPath(f.GetField().GetFieldPath())
	if err != nil {
		return err
	}
	if path.isName() {
		return errNoName
	}
	switch f.GetOp() {
	case pb.StructuredQuery_UnaryFilter_IS_NULL, pb.StructuredQuery_UnaryFilter_IS_NAN:
	case pb.StructuredQuery_UnaryFilter_IS_NOT_NULL, pb.StructuredQuery_UnaryFilter_IS_NOT_NAN:
		c.counts.notEqual++
		c.unequal = append(c.unequal, path)
	default:
		return status.Error(codes.InvalidArgument, "Unknown unary operator.")
	}
	return nil
}

func (c *compiler) checkField(f *pb.StructuredQuery_FieldFilter) error {
	path, err := parseFieldPath(f.GetField().GetFieldPath())
	if err != nil {
		return err
	}
	if f.GetValue().GetValueType() == nil {
		return status.Error(codes.InvalidArgument, "A filter must have a value.")
	}
	op := f.GetOp()
	if isRange(op) && (isNull(f.GetValue()) || isNaN(f.GetValue())) {
		return status.Error(codes.InvalidArgument, "Null and NaN can be compared for equality alone.")
	}
	switch {
	case isRange(op):
		c.unequal = append(c.unequal, path)
	case op == pb.StructuredQuery_FieldFilter_NOT_EQUAL:
		c.counts.notEqual++
		c.unequal = append(c.unequal, path)
	case op == pb.StructuredQuery_FieldFilter_NOT_IN:
		c.counts.notIn++
		c.unequal = append(c.unequal, path)
		err = checkList(f, maxNotIn)
	case op == pb.StructuredQuery_FieldFilter_IN, op == pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		c.counts.in++
		err = checkList(f, maxIn)
	case op == pb.StructuredQuery_FieldFilter_EQUAL, op == pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS:
	default:
		return status.Error(codes.InvalidArgument, "Unknown operator.")
	}
	if containsElement(op) {
		c.counts.contains++
	}
	if err != nil {
		return err
	}
	if !path.isName() {
		return checkIndexed(f)
	}
	if op == pb.StructuredQuery_FieldFilter_EQUAL || op == pb.StructuredQuery_FieldFilter_IN {
		c.counts.named++
	}
	return c.checkNames(f)
}

func checkList(f *pb.StructuredQuery_FieldFilter, most int) error {
	list := f.GetValue().GetArrayValue()
	if list == nil || len(list.GetValues()) == 0 {
		return status.Errorf(codes.InvalidArgument, "'%s' requires an non-empty ArrayValue.", f.GetOp())
	}
	if len(list.GetValues()) > most {
		return status.Errorf(codes.InvalidArgument, "'%s' supports up to %d comparison values.", f.GetOp(), most)
	}
	return nil
}

func (c *compiler) checkNames(f *pb.StructuredQuery_FieldFilter) error {
	names := []*pb.Value{f.GetValue()}
	switch f.GetOp() {
	case pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS, pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		return status.Error(codes.InvalidArgument, "__name__ is no array.")
	case pb.StructuredQuery_FieldFilter_IN, pb.StructuredQuery_FieldFilter_NOT_IN:
		names = f.GetValue().GetArrayValue().GetValues()
	}
	for _, v := range names {
		if err := c.checkName(v); err != nil {
			return err
		}
	}
	return nil
}

// checkName accepts the name of a document of the database, as a reference.
func (c *compiler) checkName(v *pb.Value) error {
	database, _, err := splitDocumentName(v.GetReferenceValue())
	if err != nil || database != c.q.database {
		return errNoName
	}
	return nil
}

var errNoName = status.Error(codes.InvalidArgument, "__key__ filter value must be a Key")

// checkIndexed refuses a value that is larger than what an index has of one.
func checkIndexed(f *pb.StructuredQuery_FieldFilter) error {
	values := []*pb.Value{f.GetValue()}
	switch f.GetOp() {
	case pb.StructuredQuery_FieldFilter_IN, pb.StructuredQuery_FieldFilter_NOT_IN, pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		values = f.GetValue().GetArrayValue().GetValues()
	}
	for _, v := range values {
		if valueSize(v) > maxIndexed {
			return status.Errorf(codes.InvalidArgument, "value for %s is too large to be used in a query", clip(f.GetField().GetFieldPath()))
		}
	}
	return nil
}

// build makes a filter of what check accepted.
func (c *compiler) build(f *pb.StructuredQuery_Filter) filter {
	switch t := f.GetFilterType().(type) {
	case *pb.StructuredQuery_Filter_CompositeFilter:
		parts := make([]filter, len(t.CompositeFilter.GetFilters()))
		for i, g := range t.CompositeFilter.GetFilters() {
			parts[i] = c.build(g)
		}
		if t.CompositeFilter.GetOp() == pb.StructuredQuery_CompositeFilter_OR {
			return anyOf(parts)
		}
		return allOf(parts)
	case *pb.StructuredQuery_Filter_UnaryFilter:
		path, _ := parseFieldPath(t.UnaryFilter.GetField().GetFieldPath())
		return unary{path, t.UnaryFilter.GetOp()}
	}
	ff := f.GetFieldFilter()
	path, _ := parseFieldPath(ff.GetField().GetFieldPath())
	out := &compares{path: path, op: ff.GetOp(), value: ff.GetValue()}
	switch ff.GetOp() {
	case pb.StructuredQuery_FieldFilter_IN, pb.StructuredQuery_FieldFilter_NOT_IN, pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		for _, v := range ff.GetValue().GetArrayValue().GetValues() {
			switch {
			case isNull(v) && ff.GetOp() == pb.StructuredQuery_FieldFilter_NOT_IN:
				return anyOf{} // no value is known to differ from null
			case isNull(v), isNaN(v):
				continue // and none equals it, nor NaN
			}
			out.keys = append(out.keys, string(valuekey.Append(nil, v)))
		}
	default:
		out.key = string(valuekey.Append(nil, ff.GetValue()))
	}
	return out
}
