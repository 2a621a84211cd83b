package firestore

import (
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"outboxrelay/deploy/local/firestore/valuekey"
)

// order is one column of an order.
type order struct {
	path       fieldPath
	descending bool
}

// shape is what a view is made of: a query without the values of its equalities,
// the bounds of its first order, its cursors, its limit and its projection.
// Queries that differ in those alone share a view.
type shape struct {
	database   string
	scope      string // path of the collection, or of the parent of a group
	collection string // its ID
	group      bool   // all collections of that ID below scope
	equals     []fieldPath
	where      filter
	orders     []order // ends with __name__
	id         string  // equal for equal shapes
}

// query is a StructuredQuery, read and normalised.
type query struct {
	shape
	prefix     string // of all keys: the values of the equalities
	low, high  string // keys of the view from low, below high
	offset     int
	limit      int // -1: none
	projection *projection
}

// windowed reports whether a document outside the result can move into it
// without having changed itself.
func (q *query) windowed() bool { return q.limit >= 0 || q.offset > 0 }

// covers reports whether a collection is within the query's scope.
func (s *shape) covers(collection string) bool {
	if !s.group {
		return collection == s.scope
	}
	return collectionID(collection) == s.collection && (s.scope == "" || strings.HasPrefix(collection, s.scope+"/"))
}

// ordersBy reports whether a field is among the columns of the order.
func (s *shape) ordersBy(path fieldPath) bool {
	return slices.ContainsFunc(s.orders, func(o order) bool { return slices.Equal(o.path, path) })
}

// key is the position of the reader's record in the order of the view, valid
// until the next use of the buffer; ok is false when the record is not in it.
func (s *shape) key(d *reader, buf []byte) (key []byte, ok bool) {
	if d.rec == nil || !s.covers(d.rec.parent()) || !s.where.matches(d) {
		return buf, false
	}
	buf = buf[:0]
	for _, path := range s.equals {
		v := d.get(path)
		if v == nil {
			return buf, false
		}
		buf = s.appendValue(buf, path, v)
	}
	for _, o := range s.orders {
		if o.path.isName() {
			start := len(buf)
			buf = valuekey.AppendName(buf, d.rec.path)
			if o.descending {
				valuekey.Invert(buf[start:])
			}
			continue
		}
		v := d.get(o.path)
		if v == nil {
			return buf, false
		}
		buf = s.appendColumn(buf, o, v)
	}
	return buf, true
}

// appendColumn adds v as a column of an order.
func (s *shape) appendColumn(b []byte, o order, v *pb.Value) []byte {
	start := len(b)
	b = s.appendValue(b, o.path, v)
	if o.descending {
		valuekey.Invert(b[start:])
	}
	return b
}

// appendValue keys v as the field at path is keyed: a document's own name is kept
// without the part that all names of the database share.
func (s *shape) appendValue(b []byte, path fieldPath, v *pb.Value) []byte {
	if name := v.GetReferenceValue(); path.isName() && name != "" {
		return valuekey.AppendName(b, strings.TrimPrefix(name, s.database+"/documents/"))
	}
	return valuekey.Append(b, v)
}

// above is a bound that no key beginning with prefix reaches.
const above = "\xff"

// ascend yields the entries of a view within the query's bounds, in order.
func (q *query) ascend(tree *entryTree, yield func(e entry) bool) {
	tree.Ascend(entry{key: q.low}, func(e entry) bool {
		return e.key < q.high && yield(e)
	})
}

// scan yields the entries of a view that the query selects, in order.
func (q *query) scan(tree *entryTree, yield func(e entry)) {
	w := q.window()
	if w.left == 0 {
		return
	}
	q.ascend(tree, func(e entry) bool {
		if w.take() {
			yield(e)
		}
		return w.left != 0
	})
}

// window counts off an offset and a limit.
type window struct{ skip, left int }

func (q *query) window() window { return window{q.offset, q.limit} }

// take reports whether the next entry is within the window.
func (w *window) take() bool {
	if w.skip > 0 {
		w.skip--
		return false
	}
	if w.left == 0 {
		return false
	}
	w.left--
	return true
}

// contains reports whether a key lies within the query's bounds.
func (q *query) contains(key string) bool { return q.low <= key && key < q.high }

// describe writes what makes two shapes the same.
func (s *shape) describe(where *pb.StructuredQuery_Filter) {
	var b []byte
	part := func(p string) { b = append(append(b, p...), 0, 1) }
	part(s.scope)
	part(s.collection)
	if s.group {
		part("group")
	}
	for _, p := range s.equals {
		part(p.key())
	}
	part("order")
	for _, o := range s.orders {
		part(o.path.key())
		if o.descending {
			part("descending")
		}
	}
	if where != nil {
		raw, _ := deterministic.Marshal(where)
		part(string(raw))
	}
	s.id = string(b)
}

// sortPaths orders paths by name and drops repeats.
func sortPaths(paths []fieldPath) []fieldPath {
	slices.SortFunc(paths, slices.Compare[fieldPath])
	return slices.CompactFunc(paths, slices.Equal[fieldPath])
}
