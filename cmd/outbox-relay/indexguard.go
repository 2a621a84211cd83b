package main

import (
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
)

// require refuses a query that Firestore would refuse for want of an index. It
// knows the service's kind of query: filters joined by AND, on one collection.
//
// A field has its single-field indexes unless it is exempt, and these are merged
// for any number of equalities. A query that has equalities and an order, or an
// order of several fields, needs composite indexes: each begins with some of the
// equalities' fields and goes on with the whole order, in its directions. They
// are merged too, so together they must hold every equality.
func (f firestoreIndexes) require(q *firestorepb.StructuredQuery) error {
	n, err := needOf(q)
	if err != nil {
		return err
	}
	for _, from := range q.From {
		if !f.serve(from.CollectionId, n) {
			return fmt.Errorf("the query on %s needs an index: %s", from.CollectionId, n)
		}
	}
	return nil
}

func (f firestoreIndexes) serve(collection string, n indexNeed) bool {
	if single := slices.Concat(n.equal, fieldsOf(n.order)); len(n.order) == 0 || len(single) == 1 {
		return n.nameFollows() && !slices.ContainsFunc(single, func(field string) bool { return f.isExempt(collection, field) })
	}
	missing := slices.Clone(n.equal)
	found := false
	for _, index := range f.Indexes {
		if index.CollectionGroup != collection || !index.serves(n) {
			continue
		}
		found = true
		missing = slices.DeleteFunc(missing, func(field string) bool { return slices.Contains(fieldsOf(index.Fields), field) })
	}
	return found && len(missing) == 0
}

// isExempt reports whether a field, or a map that holds it, has no single-field
// indexes.
func (f firestoreIndexes) isExempt(collection, field string) bool {
	return slices.ContainsFunc(f.FieldOverrides, func(o fieldOverride) bool {
		return o.CollectionGroup == collection && len(o.Indexes) == 0 && strings.HasPrefix(field+".", o.FieldPath+".")
	})
}

// serves reports whether the index may take part in answering n.
func (i compositeIndex) serves(n indexNeed) bool {
	prefix := len(i.Fields) - len(n.order)
	return prefix >= 0 && n.nameFollows() && slices.Equal(i.Fields[prefix:], n.order) &&
		!slices.ContainsFunc(i.Fields[:prefix], func(field indexField) bool { return !slices.Contains(n.equal, field.FieldPath) })
}

// indexNeed is what a query asks of the indexes.
type indexNeed struct {
	equal []string     // fields that are compared for equality
	order []indexField // fields that are compared otherwise, or that order the result
	name  string       // direction of the document's name, which ends every order
}

// nameFollows reports whether the name goes in the direction in which every
// index that is not told otherwise has it: that of its last field.
func (n indexNeed) nameFollows() bool {
	last := direction(false)
	if len(n.order) > 0 {
		last = n.order[len(n.order)-1].Order
	}
	return n.name == last
}

func (n indexNeed) String() string {
	var parts []string
	for _, field := range n.equal {
		parts = append(parts, field+" equal")
	}
	for _, field := range n.order {
		parts = append(parts, field.FieldPath+" "+field.Order)
	}
	return strings.Join(append(parts, "__name__ "+n.name), ", ")
}

func needOf(q *firestorepb.StructuredQuery) (indexNeed, error) {
	var n indexNeed
	equal, ranged, err := compared(q.Where)
	if err != nil {
		return n, err
	}
	slices.Sort(equal)
	n.equal = slices.Compact(equal)
	for _, o := range q.OrderBy {
		n.orderBy(o.Field.GetFieldPath(), direction(o.Direction == firestorepb.StructuredQuery_DESCENDING))
	}
	slices.Sort(ranged)
	for _, field := range ranged { // an inequality is an order, too
		n.orderBy(field, n.lastDirection())
	}
	if n.name == "" {
		n.name = n.lastDirection()
	}
	return n, nil
}

// orderBy adds a field to the order. One that is there already, or that has one
// value only, orders nothing.
func (n *indexNeed) orderBy(field, dir string) {
	switch {
	case field == "__name__":
		if n.name == "" {
			n.name = dir
		}
	case !slices.Contains(n.equal, field) && !slices.Contains(fieldsOf(n.order), field):
		n.order = append(n.order, indexField{FieldPath: field, Order: dir})
	}
}

func (n *indexNeed) lastDirection() string {
	switch {
	case n.name != "":
		return n.name
	case len(n.order) > 0:
		return n.order[len(n.order)-1].Order
	}
	return direction(false)
}

func fieldsOf(fields []indexField) []string {
	out := make([]string, len(fields))
	for n, f := range fields {
		out[n] = f.FieldPath
	}
	return out
}

// compared lists the fields that a filter compares: for equality, of which "in"
// is several, or otherwise.
func compared(f *firestorepb.StructuredQuery_Filter) (equal, ranged []string, err error) {
	switch f := f.GetFilterType().(type) {
	case *firestorepb.StructuredQuery_Filter_FieldFilter:
		field := f.FieldFilter.Field.GetFieldPath()
		switch f.FieldFilter.Op {
		case firestorepb.StructuredQuery_FieldFilter_EQUAL, firestorepb.StructuredQuery_FieldFilter_IN:
			return []string{field}, nil, nil
		case firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS, firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
			return nil, nil, fmt.Errorf("the query compares %s by %s, and no index of an array is declared", field, f.FieldFilter.Op)
		}
		return nil, []string{field}, nil
	case *firestorepb.StructuredQuery_Filter_UnaryFilter:
		field := f.UnaryFilter.GetField().GetFieldPath()
		switch f.UnaryFilter.Op {
		case firestorepb.StructuredQuery_UnaryFilter_IS_NULL, firestorepb.StructuredQuery_UnaryFilter_IS_NAN:
			return []string{field}, nil, nil
		}
		return nil, []string{field}, nil
	case *firestorepb.StructuredQuery_Filter_CompositeFilter:
		parts := f.CompositeFilter.GetFilters()
		if len(parts) > 1 && f.CompositeFilter.Op == firestorepb.StructuredQuery_CompositeFilter_OR {
			return nil, nil, fmt.Errorf("the query joins filters by OR, whose indexes are not known here")
		}
		for _, part := range parts {
			e, r, err := compared(part)
			if err != nil {
				return nil, nil, err
			}
			equal, ranged = append(equal, e...), append(ranged, r...)
		}
	}
	return equal, ranged, nil
}
