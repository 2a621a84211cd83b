package conformance

import (
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
)

var allValues = []string{
	"a-null", "b-false", "c-true", "d-nan", "e-neginf", "f-neg", "g-zero", "h-one", "i-onehalf", "j-big", "k-inf",
	"l-early", "m-late", "n-empty", "o-a", "p-a0", "q-ab", "r-u", "s-bytes", "t-ref", "u-geo", "v-array", "w-array2", "x-map", "y-map2",
}

var orders = []test{
	{"across types", func(e *env) { e.wantIDs(e.values().OrderBy("x", firestore.Asc), allValues...) }},
	{"across types, descending", func(e *env) {
		want := slices.Clone(allValues)
		slices.Reverse(want)
		e.wantIDs(e.values().OrderBy("x", firestore.Desc), want...)
	}},
	{"by name without an order", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"b": {}, "a": {}, "B": {}, "10": {}, "9": {}, "ä": {}})
		e.wantIDs(c.Query, "10", "9", "B", "a", "b", "ä")
	}},
	{"ties go by name, in the last direction", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 0}})
		e.index(c, "-x", "__name__")
		e.wantIDs(c.OrderBy("x", firestore.Asc), "c", "a", "b")
		e.wantIDs(c.OrderBy("x", firestore.Desc), "b", "a", "c")
		e.wantIDs(c.OrderBy("x", firestore.Desc).OrderBy(firestore.DocumentID, firestore.Asc), "a", "b", "c")
	}},
	{"by several fields", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{
			"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 1}, "c": {"x": 0, "y": 5}, "d": {"x": 2}, "e": {"y": 1},
		})
		e.index(c, "x", "-y")
		e.index(c, "-x", "y")
		e.wantIDs(c.OrderBy("x", firestore.Asc).OrderBy("y", firestore.Desc), "c", "a", "b")
		e.wantIDs(c.OrderBy("x", firestore.Desc).OrderBy("y", firestore.Asc), "b", "a", "c")
	}},
	{"an inequality orders by its field", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 3, "y": 1}, "b": {"x": 1, "y": 2}, "c": {"x": 2, "y": 0}})
		e.wantIDs(c.Where("x", ">", 0), "b", "c", "a")
		e.wantIDs(c.Where("x", "!=", 1), "c", "a")
		e.wantIDs(c.Where("x", "not-in", []any{2}), "b", "a")
		e.wantIDs(c.Where("x", ">", 0).OrderBy("x", firestore.Desc), "a", "c", "b")
	}},
	{"inequalities on several fields", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 3, "y": 1}, "b": {"x": 1, "y": 2}, "c": {"x": 1, "y": 1}, "d": {"x": 5, "y": 0}})
		e.index(c, "x", "y")
		e.index(c, "-y", "-x")
		e.wantIDs(c.Where("y", ">", 0).Where("x", ">", 0), "c", "b", "a")
		e.wantIDs(c.Where("y", ">", 0).Where("x", ">", 0).OrderBy("y", firestore.Desc), "b", "a", "c")
	}},
	{"a field of the order must be there", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": nil}, "b": {"y": 1}})
		e.wantIDs(c.OrderBy("x", firestore.Asc), "a")
	}},
}

var cursors = []test{
	{"start and end", func(e *env) {
		q := e.numbered(6).OrderBy("n", firestore.Asc)
		e.wantIDs(q.StartAt(2), "d002", "d003", "d004", "d005")
		e.wantIDs(q.StartAfter(2), "d003", "d004", "d005")
		e.wantIDs(q.EndAt(2), "d000", "d001", "d002")
		e.wantIDs(q.EndBefore(2), "d000", "d001")
		e.wantIDs(q.StartAt(1.5).EndBefore(4), "d002", "d003")
		e.wantIDs(q.StartAfter("text"))
		e.wantIDs(q.StartAfter(true), "d000", "d001", "d002", "d003", "d004", "d005")
	}},
	{"descending", func(e *env) {
		q := e.numbered(6).OrderBy("n", firestore.Desc)
		e.wantIDs(q.StartAt(3), "d003", "d002", "d001", "d000")
		e.wantIDs(q.StartAfter(3).EndAt(1), "d002", "d001")
	}},
	{"a prefix of the order", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 2}, "c": {"x": 2, "y": 1}})
		e.index(c, "x", "y")
		q := c.OrderBy("x", firestore.Asc).OrderBy("y", firestore.Asc)
		e.wantIDs(q.StartAt(1, 2), "b", "c")
		e.wantIDs(q.StartAfter(1, 1).EndBefore(2, 1), "b")
		e.wantIDs(c.OrderBy("x", firestore.Asc).StartAfter(1), "c")
		e.wantIDs(c.OrderBy("x", firestore.Asc).EndAt(1), "a", "b")
	}},
	{"by name among equals", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}, "d": {"x": 2}})
		q := c.OrderBy("x", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc)
		e.wantIDs(q.StartAfter(1, "b"), "c", "d")
		e.wantIDs(q.StartAt(1, "b").EndBefore(2, "d"), "b", "c")
	}},
	{"at a document", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}, "d": {"x": 2}})
		e.wantIDs(c.OrderBy("x", firestore.Asc).StartAfter(e.get(c.Doc("b"))), "c", "d")
		e.wantIDs(c.OrderBy("x", firestore.Desc).StartAfter(e.get(c.Doc("b"))), "a")
		e.wantIDs(c.Where("x", ">", 0).StartAt(e.get(c.Doc("c"))), "c", "d")
		e.wantIDs(c.StartAfter(e.get(c.Doc("b"))), "c", "d")
	}},
	{"pages", func(e *env) {
		c := e.collection()
		docs := map[string]fields{}
		for i := range 95 {
			docs[fmt.Sprintf("d%03d", i)] = fields{"lane": "L", "status": "pending", "at": i / 10}
		}
		e.fill(c, docs)
		e.index(c, "lane", "status", "at")
		q := c.Where("lane", "==", "L").Where("status", "==", "pending").OrderBy("at", firestore.Asc).Limit(30)
		var got []string
		for page := q; ; {
			snaps, err := page.Documents(e.ctx).GetAll()
			e.ok(err)
			if len(snaps) == 0 {
				break
			}
			got = append(got, idsOf(snaps)...)
			page = q.StartAfter(snaps[len(snaps)-1])
		}
		e.equal(95, len(got))
		e.equal(true, slices.IsSorted(got))
	}},
	{"limit and offset", func(e *env) {
		q := e.numbered(6).OrderBy("n", firestore.Asc)
		e.wantIDs(q.Limit(2), "d000", "d001")
		e.wantIDs(q.Offset(4), "d004", "d005")
		e.wantIDs(q.Offset(1).Limit(2), "d001", "d002")
		e.wantIDs(q.StartAfter(1).Offset(1).Limit(1), "d003")
		e.wantIDs(q.Offset(10))
	}},
	{"limit to last", func(e *env) {
		c := e.numbered(6)
		q := func() firestore.Query { return c.OrderBy("n", firestore.Asc) } // the client changes its query as it runs it
		e.wantIDs(q().LimitToLast(2), "d004", "d005")
		e.wantIDs(q().EndBefore(4).LimitToLast(2), "d002", "d003")
		e.wantIDs(q().StartAt(1).EndAt(3).LimitToLast(2), "d002", "d003")
	}},
}

var queries = []test{
	{"projection", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 1, "y": 2, "m": fields{"p": 1, "q": 2}}})
		data := func(q firestore.Query) fields {
			snaps, err := q.Documents(e.ctx).GetAll()
			e.ok(err)
			e.equal(1, len(snaps))
			return snaps[0].Data()
		}
		e.equal(fields{"x": int64(1), "m": fields{"q": int64(2)}}, data(c.Select("x", "m.q", "none")))
		e.equal(fields{}, data(c.Select()))
		e.equal(fields{"y": int64(2)}, data(c.Where("x", "==", 1).Select("y")))
	}},
	{"collection groups", func(e *env) {
		root := e.doc()
		group := e.collection().ID
		for _, p := range []string{"a", "b"} {
			e.set(root.Collection("p").Doc(p).Collection(group).Doc("x"+p), fields{"n": p})
		}
		e.set(e.client.Collection(group).Doc("top"), fields{"n": "c"})
		e.set(root.Collection("not"+group).Doc("other"), fields{"n": "d"})
		e.indexGroup(group, "n")
		all := e.client.CollectionGroup(group)
		e.equal(3, len(e.ids(all.Query)))
		e.wantIDs(all.OrderBy("n", firestore.Desc), "top", "xb", "xa")
		e.wantIDs(all.Where("n", "==", "b"), "xb")
		e.wantIDs(all.OrderBy("n", firestore.Asc).StartAfter("a").Limit(1), "xb")
	}},
	{"a subcollection is not its parent's", func(e *env) {
		d := e.doc()
		e.set(d, fields{"x": 1})
		e.set(d.Collection("sub").Doc("s"), fields{"x": 1})
		e.wantIDs(d.Parent.Where("x", "==", 1), "d")
		e.wantIDs(d.Collection("sub").Where("x", "==", 1), "s")
	}},
	{"a result keeps up with writes", func(e *env) {
		c := e.collection()
		e.index(c, "status", "n")
		q := c.Where("status", "==", "pending").OrderBy("n", firestore.Asc)
		e.wantIDs(q)
		e.fill(c, map[string]fields{"a": {"status": "pending", "n": 2}, "b": {"status": "pending", "n": 1}})
		e.wantIDs(q, "b", "a")
		_, err := c.Doc("a").Update(e.ctx, []firestore.Update{{Path: "n", Value: 0}})
		e.ok(err)
		e.wantIDs(q, "a", "b")
		_, err = c.Doc("a").Update(e.ctx, []firestore.Update{{Path: "status", Value: "done"}})
		e.ok(err)
		e.wantIDs(q, "b")
		_, err = c.Doc("b").Delete(e.ctx)
		e.ok(err)
		e.wantIDs(q)
	}},
}
