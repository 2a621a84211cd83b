package indexes

import (
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// nameField is the document's name, which ends every order.
const nameField = "__name__"

// need is what one conjunction of filters, with the query's order, asks of the
// indexes of a collection.
type need struct {
	collection string
	scope      string
	equal      []string // fields that are compared for equality, sorted
	contains   []string // arrays that are asked for an element, sorted
	order      []Field  // fields that are compared otherwise, or that order the result
	name       string   // direction of the document's name
}

// compared is how a filter compares fields.
type compared struct {
	equal, several, contains, ranged []string // several: equal to one of some values
}

// needsOf lists what a query asks of the indexes. Filters joined by OR are taken
// apart, as Firestore does: each of the conjunctions that they come to needs
// its own, in the order of the whole query. aggregated are the fields that are
// summed up.
func needsOf(q *pb.StructuredQuery, aggregated []string) []need {
	alternatives := disjuncts(q.GetWhere())
	var ranged []string
	for _, c := range alternatives {
		ranged = append(ranged, c.ranged...)
	}
	slices.Sort(ranged)
	var needs []need
	for _, from := range q.GetFrom() {
		scope := ScopeCollection
		if from.GetAllDescendants() {
			scope = ScopeGroup
		}
		for _, c := range alternatives {
			n := need{collection: from.GetCollectionId(), scope: scope, equal: sorted(c.equal, c.several), contains: sorted(c.contains)}
			n.orderBy(q.GetOrderBy(), c, slices.Concat(slices.Compact(ranged), aggregated))
			needs = append(needs, n)
		}
	}
	return needs
}

// orderBy takes over the query's order, and ends it with those of further fields
// that it must find in its index: what it compares by inequality, by their names,
// and what it sums up.
func (n *need) orderBy(orders []*pb.StructuredQuery_Order, c compared, further []string) {
	for _, o := range orders {
		n.orderByField(o.GetField().GetFieldPath(), directionOf(o), c.several)
	}
	for _, field := range further {
		n.orderByField(field, n.lastDirection(), c.several)
	}
	if n.name == "" {
		n.name = n.lastDirection()
	}
}

// orderByField adds a field to the order. One that is there already, or that has
// one value only, orders nothing; one that has one of several does.
func (n *need) orderByField(field, direction string, several []string) {
	switch {
	case field == nameField:
		if n.name == "" {
			n.name = direction
		}
		return
	case n.name != "" || slices.ContainsFunc(n.order, func(f Field) bool { return f.FieldPath == field }):
		return
	case slices.Contains(several, field):
		n.equal = slices.DeleteFunc(n.equal, func(f string) bool { return f == field })
	case slices.Contains(n.equal, field):
		return
	}
	n.order = append(n.order, Field{FieldPath: field, Order: direction})
}

func (n *need) lastDirection() string {
	switch {
	case n.name != "":
		return n.name
	case len(n.order) > 0:
		return n.order[len(n.order)-1].Order
	}
	return Ascending
}

// nameFollows reports whether the name goes in the direction in which every
// index that is not told otherwise has it: that of its last field.
func (n *need) nameFollows() bool {
	last := Ascending
	if len(n.order) > 0 {
		last = n.order[len(n.order)-1].Order
	}
	return n.name == last
}

func directionOf(o *pb.StructuredQuery_Order) string {
	if o.GetDirection() == pb.StructuredQuery_DESCENDING {
		return Descending
	}
	return Ascending
}

// sorted joins lists of fields without repeats. Names of documents need no index.
func sorted(lists ...[]string) []string {
	all := slices.DeleteFunc(slices.Concat(lists...), func(field string) bool { return field == nameField })
	slices.Sort(all)
	return slices.Compact(all)
}

// disjuncts brings a filter into disjunctive normal form.
func disjuncts(f *pb.StructuredQuery_Filter) []compared {
	switch f := f.GetFilterType().(type) {
	case *pb.StructuredQuery_Filter_FieldFilter:
		return []compared{comparedBy(f.FieldFilter.GetField().GetFieldPath(), f.FieldFilter.GetOp())}
	case *pb.StructuredQuery_Filter_UnaryFilter:
		field := []string{f.UnaryFilter.GetField().GetFieldPath()}
		switch f.UnaryFilter.GetOp() {
		case pb.StructuredQuery_UnaryFilter_IS_NULL, pb.StructuredQuery_UnaryFilter_IS_NAN:
			return []compared{{equal: field}}
		}
		return []compared{{ranged: field}}
	case *pb.StructuredQuery_Filter_CompositeFilter:
		return joined(f.CompositeFilter)
	}
	return []compared{{}}
}

func joined(f *pb.StructuredQuery_CompositeFilter) []compared {
	if f.GetOp() == pb.StructuredQuery_CompositeFilter_OR {
		var out []compared
		for _, part := range f.GetFilters() {
			out = append(out, disjuncts(part)...)
		}
		return out
	}
	out := []compared{{}}
	for _, part := range f.GetFilters() {
		var next []compared
		for _, a := range out {
			for _, b := range disjuncts(part) {
				next = append(next, compared{
					slices.Concat(a.equal, b.equal), slices.Concat(a.several, b.several),
					slices.Concat(a.contains, b.contains), slices.Concat(a.ranged, b.ranged),
				})
			}
		}
		out = next
	}
	return out
}

func comparedBy(path string, op pb.StructuredQuery_FieldFilter_Operator) compared {
	field := []string{path}
	switch op {
	case pb.StructuredQuery_FieldFilter_EQUAL:
		return compared{equal: field}
	case pb.StructuredQuery_FieldFilter_IN:
		return compared{several: field}
	case pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS, pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		return compared{contains: field}
	}
	return compared{ranged: field}
}
