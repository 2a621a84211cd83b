package main

import (
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
)

// queryText makes a query of words: "a=" is an equality, "a in" one of several,
// "a<" and "a!" inequalities, "a?" a test for null, "a@" an array's membership,
// "+a" and "-a" are orders.
func queryText(words string) *firestorepb.StructuredQuery {
	q := &firestorepb.StructuredQuery{From: []*firestorepb.StructuredQuery_CollectionSelector{{CollectionId: "out"}}}
	ops := map[string]firestorepb.StructuredQuery_FieldFilter_Operator{
		"=": firestorepb.StructuredQuery_FieldFilter_EQUAL, "#": firestorepb.StructuredQuery_FieldFilter_IN,
		"<": firestorepb.StructuredQuery_FieldFilter_LESS_THAN, "!": firestorepb.StructuredQuery_FieldFilter_NOT_IN,
		"@": firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS,
	}
	and := &firestorepb.StructuredQuery_CompositeFilter{Op: firestorepb.StructuredQuery_CompositeFilter_AND}
	for word := range strings.FieldsSeq(words) {
		if name, down := strings.CutPrefix(word, "-"); down || strings.HasPrefix(word, "+") {
			o := &firestorepb.StructuredQuery_Order{
				Field: fieldRef(strings.TrimPrefix(name, "+")), Direction: firestorepb.StructuredQuery_ASCENDING,
			}
			if down {
				o.Direction = firestorepb.StructuredQuery_DESCENDING
			}
			q.OrderBy = append(q.OrderBy, o)
			continue
		}
		name, op := word[:len(word)-1], word[len(word)-1:]
		filter := &firestorepb.StructuredQuery_Filter{FilterType: &firestorepb.StructuredQuery_Filter_FieldFilter{
			FieldFilter: &firestorepb.StructuredQuery_FieldFilter{Field: fieldRef(name), Op: ops[op]},
		}}
		if op == "?" {
			filter.FilterType = &firestorepb.StructuredQuery_Filter_UnaryFilter{UnaryFilter: &firestorepb.StructuredQuery_UnaryFilter{
				Op:          firestorepb.StructuredQuery_UnaryFilter_IS_NULL,
				OperandType: &firestorepb.StructuredQuery_UnaryFilter_Field{Field: fieldRef(name)},
			}}
		}
		and.Filters = append(and.Filters, filter)
	}
	q.Where = &firestorepb.StructuredQuery_Filter{FilterType: &firestorepb.StructuredQuery_Filter_CompositeFilter{CompositeFilter: and}}
	return q
}

func fieldRef(name string) *firestorepb.StructuredQuery_FieldReference {
	return &firestorepb.StructuredQuery_FieldReference{FieldPath: name}
}

func TestRequireIndex(t *testing.T) {
	down := func(fields ...string) compositeIndex {
		i := ascending("out", fields...)
		i.Fields[len(fields)-1].Order = direction(true)
		return i
	}
	indexes := firestoreIndexes{
		Indexes: []compositeIndex{
			ascending("out", "status", "lane", "createdAt"), ascending("other", "status", "createdAt"),
			down("tier", "deadAt"), down("state", "deadAt"), down("x", "y", "deadAt"), ascending("out", "group", "deadAt"),
			ascending("out", "tier", "outbox", "nextAt"), down("a", "b", "c"),
		},
		FieldOverrides: []fieldOverride{exempt("out", "payload")},
	}
	for _, tc := range []struct {
		name, query string
		served      bool
	}{
		{"one equality", "status=", true},
		{"one equality by name", "status= +__name__", true},
		{"one equality by name, downwards", "status= -__name__", false},
		{"two equalities", "status= lane=", true},
		{"null", "status? lane=", true},
		{"everything by name", "+__name__", true},
		{"everything by name, downwards", "-__name__", false},
		{"one order", "+anything", true},
		{"one order downwards", "-anything", true},
		{"one order with its name", "-anything -__name__", true},
		{"one order, the name against it", "-anything +__name__", false},
		{"a range by its own order", "anything< -anything -__name__", true},
		{"a range and an equality of one field", "a= a<", true},
		{"the lane's query", "status= lane= +createdAt +__name__", true},
		{"the lane's query, its index the other way round", "lane= status= +createdAt", true},
		{"the lane's query downwards", "status= lane= -createdAt", false},
		{"half of the lane's query", "status= +createdAt", false},
		{"the strays' query", "status= lane! +lane +createdAt", true},
		{"an order without its index", "status= +nextAttemptAt", false},
		{"an order that ends early", "status= +lane", false},
		{"an order of two without its index", "+status +createdAt", false},
		{"an equality that comes late", "createdAt= +status +lane", false},
		{"an equality and a range", "tier= nextAt<", false},
		{"several values and a range", "tier= outbox# nextAt< +nextAt", true},
		{"latest first", "tier= -deadAt -__name__", true},
		{"latest first, merged", "tier= state= -deadAt -__name__", true},
		{"latest first, merged with one of two equalities", "tier= x= y= -deadAt", true},
		{"merged, but one equality is in none", "tier= nowhere= -deadAt", false},
		{"merged, but half of an index is too much", "tier= x= -deadAt", false},
		{"merged, but the directions differ", "tier= group= -deadAt", false},
		{"oldest first", "tier= +deadAt", false},
		{"oldest first of a group", "group= +deadAt", true},
		{"a range without an order is upwards", "tier= deadAt<", false},
		{"a range in the order's direction", "tier= deadAt< -deadAt", true},
		{"the name against the order", "tier= -deadAt +__name__", false},
		{"mixed directions", "a= +b -c", true},
		{"mixed directions the other way", "a= -b +c", false},
		{"an exempt field", "payload=", false},
		{"within an exempt field", "status= payload.x=", false},
		{"beside an exempt field", "payloads=", true},
		{"an array's membership", "tags@", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := indexes.require(queryText(tc.query)); (err == nil) != tc.served {
				t.Errorf("%s: require = %v, want it served: %v", tc.query, err, tc.served)
			}
		})
	}
}

func TestRequireIndexRefusesOr(t *testing.T) {
	q := queryText("a= b=")
	q.Where.GetCompositeFilter().Op = firestorepb.StructuredQuery_CompositeFilter_OR
	if err := (firestoreIndexes{}).require(q); err == nil {
		t.Error("a query joined by OR was let through")
	}
}
