package indexes

import (
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// Require refuses, with a *MissingError, a query that Firestore would refuse for
// want of an index. aggregated are the fields that the query is summed up by.
//
// A field has its single-field indexes unless an override says otherwise, and
// those of equalities are merged, any number of them. A query that has equalities and
// an order, or an order of several fields, needs composite indexes: each begins
// with some of the equalities' fields and goes on with the whole order, in its
// directions. They are merged too, so together they must hold every equality.
// Where Firestore's documentation leaves open what it merges, the query is refused.
func (f File) Require(q *pb.StructuredQuery, aggregated ...string) error {
	for _, n := range needsOf(q, aggregated) {
		if !f.serve(&n) {
			return &MissingError{need: n}
		}
	}
	return nil
}

func (f File) serve(n *need) bool {
	if f.merge(n) {
		return true
	}
	if !n.nameFollows() {
		return false
	}
	switch {
	case len(n.contains)+len(n.order) == 0:
		return !slices.ContainsFunc(n.equal, func(field string) bool { return !f.single(n, field, Single{Order: Ascending}) })
	case len(n.equal)+len(n.contains)+len(n.order) > 1:
		return false
	case len(n.contains) == 1:
		return f.single(n, n.contains[0], Single{ArrayConfig: Contains})
	}
	return f.single(n, n.order[0].FieldPath, Single{Order: n.order[0].Order})
}

// merge reports whether composite indexes serve n, one or several together.
func (f File) merge(n *need) bool {
	missing := slices.Concat(n.equal, n.contains)
	found := false
	for _, c := range f.Indexes {
		fields, ok := c.serve(n)
		if !ok {
			continue
		}
		found = true
		missing = slices.DeleteFunc(missing, func(field string) bool { return slices.Contains(fields, field) })
	}
	return found && len(missing) == 0
}

// serve reports whether the index may take part in answering n, and for which of
// its comparisons.
func (c Composite) serve(n *need) (compared []string, ok bool) {
	if c.CollectionGroup != n.collection || c.QueryScope != n.scope {
		return nil, false
	}
	fields, name := c.named()
	prefix := len(fields) - len(n.order)
	if prefix < 0 || name != n.name || !slices.Equal(fields[prefix:], n.order) {
		return nil, false
	}
	for _, field := range fields[:prefix] {
		of := n.equal
		if field.ArrayConfig != "" {
			of = n.contains
		}
		if !slices.Contains(of, field.FieldPath) {
			return nil, false
		}
		compared = append(compared, field.FieldPath)
	}
	return compared, true
}

// named returns the fields without the document's name, and its direction: the
// last field's, unless it is given.
func (c Composite) named() (fields []Field, name string) {
	last := c.Fields[len(c.Fields)-1]
	switch {
	case last.FieldPath == nameField:
		return c.Fields[:len(c.Fields)-1], last.Order
	case last.Order == "":
		return c.Fields, Ascending
	}
	return c.Fields, last.Order
}

// single reports whether the field has the single-field index wanted. A field
// without an override has that of the map that holds it, then that of every
// field, and else the automatic indexes.
func (f File) single(n *need, field string, wanted Single) bool {
	if field == nameField {
		return true
	}
	wanted.QueryScope = n.scope
	for path := field; ; {
		if o := f.override(n.collection, path); o != nil {
			return slices.Contains(o.Indexes, wanted)
		}
		switch dot := strings.LastIndexByte(path, '.'); {
		case dot >= 0:
			path = path[:dot]
		case path != AnyField:
			path = AnyField
		default:
			return n.scope == ScopeCollection // there is none of the wider scope by itself
		}
	}
}

func (f File) override(collection, path string) *Override {
	for i := range f.FieldOverrides {
		if o := &f.FieldOverrides[i]; o.CollectionGroup == collection && o.FieldPath == path {
			return o
		}
	}
	return nil
}
