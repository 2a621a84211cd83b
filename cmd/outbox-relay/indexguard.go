package main

import (
	"fmt"
	"slices"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
)

// require refuses a query that Firestore would refuse for want of a composite
// index. It knows the relay's kind of query: filters joined by AND, on fields
// that have their single-field indexes.
func (f firestoreIndexes) require(q *firestorepb.StructuredQuery) error {
	equal, ordered := queryFields(q)
	if len(ordered) == 0 || len(equal)+len(ordered) < 2 {
		return nil // single-field indexes do, merged where there are several equalities
	}
	for _, from := range q.From {
		if !slices.ContainsFunc(f.Indexes, func(i compositeIndex) bool { return i.CollectionGroup == from.CollectionId && i.serves(equal, ordered) }) {
			return fmt.Errorf("the query on %s needs a composite index on %v, %v", from.CollectionId, equal, ordered)
		}
	}
	return nil
}

// serves reports whether the index begins with the fields that are compared for
// equality, in any order, and goes on with those that the result is ordered by.
func (i compositeIndex) serves(equal, ordered []string) bool {
	if len(i.Fields) != len(equal)+len(ordered) {
		return false
	}
	for n, field := range i.Fields {
		if n < len(equal) && !slices.Contains(equal, field.FieldPath) {
			return false
		}
		if n >= len(equal) && ordered[n-len(equal)] != field.FieldPath {
			return false
		}
	}
	return true
}

// queryFields lists the fields that a query compares for equality, and those
// that order it. A document's name is in every index.
func queryFields(q *firestorepb.StructuredQuery) (equal, ordered []string) {
	for _, order := range q.OrderBy {
		ordered = appendField(ordered, order.Field)
	}
	for _, filter := range fieldFilters(q.Where) {
		if filter.Op == firestorepb.StructuredQuery_FieldFilter_EQUAL {
			equal = appendField(equal, filter.Field)
		} else {
			ordered = appendField(ordered, filter.Field) // an inequality is an order, too
		}
	}
	return equal, ordered
}

func appendField(fields []string, f *firestorepb.StructuredQuery_FieldReference) []string {
	if f.FieldPath == "__name__" || slices.Contains(fields, f.FieldPath) {
		return fields
	}
	return append(fields, f.FieldPath)
}

func fieldFilters(f *firestorepb.StructuredQuery_Filter) []*firestorepb.StructuredQuery_FieldFilter {
	if field := f.GetFieldFilter(); field != nil {
		return []*firestorepb.StructuredQuery_FieldFilter{field}
	}
	var out []*firestorepb.StructuredQuery_FieldFilter
	for _, part := range f.GetCompositeFilter().GetFilters() {
		out = append(out, fieldFilters(part)...)
	}
	return out
}
