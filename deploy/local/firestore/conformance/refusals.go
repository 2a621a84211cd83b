package conformance

import (
	"math"
	"strings"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
)

// refusals are queries that Firestore does not run, beside the nearest that it does.
var refusals = []test{
	{"lists and limits", func(e *env) {
		c := e.collection()
		for _, q := range []firestore.Query{
			c.Where("x", "in", []any{}),
			c.Where("x", "not-in", upTo(11)),
			c.Where("x", "in", upTo(31)),
			c.Where("x", "not-in", upTo(2)).Where("y", "in", upTo(2)),
			c.Where(firestore.DocumentID, "==", 5),
			c.OrderBy("x", firestore.Asc).OrderBy("x", firestore.Desc),
			c.Limit(-1),
		} {
			e.refused(q)
		}
	}},
	{"more than a hundred filters", func(e *env) {
		q := e.collection().Query
		for i := range 100 {
			q = q.Where("x", ">", i)
		}
		e.wantIDs(q)
		e.refused(q.Where("x", ">", 100))
	}},
	{"two that are unequal", func(e *env) {
		c := e.collection()
		e.index(c, "x", "y")
		for _, q := range []firestore.Query{
			c.Where("x", "!=", 1).Where("x", "!=", 2),
			c.Where("x", "!=", 1).Where("x", "!=", 1),
			c.Where("x", "!=", 1).Where("y", "!=", nil),
			c.Where("x", "!=", math.NaN()).Where("y", "!=", nil),
			c.Where("x", "not-in", upTo(2)).Where("y", "!=", 1),
			c.Where("x", "not-in", upTo(2)).Where("y", "not-in", upTo(2)),
			c.WhereEntity(either(where("x", "!=", 1), where("y", "!=", 1))),
		} {
			e.refused(q)
		}
		e.wantIDs(c.Where("y", ">", 1).Where("x", "!=", 1))
	}},
	{"two elements of arrays", func(e *env) {
		c := e.collection()
		e.index(c, "k", "l")
		e.fill(c, map[string]fields{"a": {"l": []any{1, 2}}})
		one, two := where("l", "array-contains", 1), where("l", "array-contains", 2)
		for _, q := range []firestore.Query{
			c.WhereEntity(both(one, two)),
			c.WhereEntity(both(one, where("k", "array-contains", 1))),
			c.WhereEntity(both(one, where("l", "array-contains-any", []any{1}))),
			c.WhereEntity(both(where("l", "array-contains-any", upTo(2)), where("l", "array-contains-any", []any{3}))),
			c.WhereEntity(both(either(one, where("k", "==", 2)), two)),
		} {
			e.refused(q)
		}
		e.wantIDs(c.WhereEntity(either(one, two)), "a")
		e.wantIDs(c.WhereEntity(both(one, one)), "a")
	}},
	{"more than thirty disjunctions", func(e *env) {
		c := e.collection()
		e.index(c, "k", "x")
		e.fill(c, map[string]fields{"a": {"x": 1, "k": 1}})
		in := func(field string, n int) firestore.EntityFilter { return where(field, "in", upTo(n)) }
		var same, pairs []firestore.EntityFilter
		for i := range 31 {
			same = append(same, where("x", "==", 1))
			if i < 5 {
				pairs = append(pairs, either(where("x", "==", i), where("k", "==", i)))
			}
		}
		for _, q := range []firestore.Query{
			c.WhereEntity(both(in("x", 5), in("k", 7))),
			c.WhereEntity(either(in("x", 20), in("k", 20))),
			c.WhereEntity(both(where("l", "array-contains-any", upTo(16)), in("k", 2))),
			c.WhereEntity(both(pairs...)),
			c.WhereEntity(both(either(in("x", 10), in("k", 6)), in("k", 2))),
		} {
			e.refused(q)
		}
		e.wantIDs(c.WhereEntity(both(in("x", 5), in("k", 6))), "a")
		e.wantIDs(c.WhereEntity(both(in("x", 8), in("x", 8))), "a")
		e.wantIDs(c.WhereEntity(both(in("x", 7), in("x", 6))), "a")
		e.wantIDs(c.WhereEntity(either(in("x", 15), in("k", 15))), "a")
		e.wantIDs(c.WhereEntity(either(in("x", 30), where("x", "==", 1))), "a")
		e.wantIDs(c.WhereEntity(either(same...)), "a")
	}},
	{"an inequality that would follow the name", func(e *env) {
		c := e.numbered(3)
		e.index(c, "m", "n")
		for _, q := range []firestore.Query{
			c.Where("n", ">", 0),
			c.Where("n", "!=", 0),
			c.Where("n", "not-in", []any{0}),
			c.Where("n", ">", 0).OrderBy("m", firestore.Asc),
			c.Where("n", ">", 0).Where(firestore.DocumentID, ">", c.Doc("a")),
		} {
			e.refused(q.OrderBy(firestore.DocumentID, firestore.Asc))
		}
		e.wantIDs(c.Where("n", ">", 0).OrderBy("n", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc), "d001", "d002")
		e.wantIDs(c.Where("n", "in", []any{2, 1}).OrderBy(firestore.DocumentID, firestore.Asc), "d001", "d002")
	}},
	{"a name beside an inequality", func(e *env) {
		c := e.numbered(3)
		named := where(firestore.DocumentID, "==", c.Doc("d001"))
		more := where("n", ">", 0)
		for _, f := range []firestore.EntityFilter{
			both(named, more),
			both(named, where("n", "!=", 0)),
			both(where(firestore.DocumentID, "in", []*firestore.DocumentRef{c.Doc("d001")}), more),
			either(named, more),
		} {
			e.refused(c.WhereEntity(f))
		}
		e.wantIDs(c.WhereEntity(both(named, where("n", "==", 1))), "d001")
		e.wantIDs(c.WhereEntity(both(named, where(firestore.DocumentID, ">", c.Doc("d000")))), "d001")
	}},
	{"a name that is compared with nothing", func(e *env) {
		c := e.numbered(1)
		e.refused(c.Where(firestore.DocumentID, "==", nil))
		e.refused(c.Where(firestore.DocumentID, "!=", nil))
	}},
	{"a value too large to be indexed", func(e *env) {
		c := e.numbered(1)
		text := func(n int) string { return strings.Repeat("x", n) }
		for op, value := range map[string]func(v any) any{
			"==":                 func(v any) any { return v },
			">":                  func(v any) any { return v },
			"!=":                 func(v any) any { return v },
			"in":                 func(v any) any { return []any{"a", v} },
			"not-in":             func(v any) any { return []any{"a", v} },
			"array-contains":     func(v any) any { return v },
			"array-contains-any": func(v any) any { return []any{"a", v} },
		} {
			for _, v := range []any{text(1500), []byte(text(1501)), fields{"k": text(1499)}, []any{text(1500)}} {
				if _, list := v.([]any); list && (op == "array-contains" || op == "array-contains-any") {
					continue // the client takes no list within it
				}
				e.refused(c.Where("x", op, value(v)))
			}
			_, err := c.Where("x", op, value(text(1499))).Documents(e.ctx).GetAll()
			e.ok(err)
			_, err = c.Where("x", op, value([]byte(text(1500)))).Documents(e.ctx).GetAll()
			e.ok(err)
		}
		e.wantIDs(c.OrderBy("n", firestore.Asc).StartAfter(text(1600)))
	}},
	{"names from the last on", func(e *env) {
		c := e.numbered(3)
		e.index(c, "n", "-__name__")
		for _, q := range []firestore.Query{
			c.OrderBy(firestore.DocumentID, firestore.Desc),
			c.OrderBy(firestore.DocumentID, firestore.Asc).LimitToLast(1),
			c.Where(firestore.DocumentID, ">", c.Doc("d000")).OrderBy(firestore.DocumentID, firestore.Desc),
		} {
			_, err := q.Documents(e.ctx).GetAll()
			e.code(err, codes.FailedPrecondition)
		}
		e.wantIDs(c.Where("n", "==", 1).OrderBy(firestore.DocumentID, firestore.Desc), "d001")
		e.wantIDs(c.OrderBy("n", firestore.Desc).OrderBy(firestore.DocumentID, firestore.Desc), "d002", "d001", "d000")
	}},
	{"a listener too", func(e *env) {
		it := e.collection().Where("x", "!=", 1).Where("y", "!=", 1).Snapshots(e.ctx)
		defer it.Stop()
		_, err := it.Next()
		e.code(err, codes.InvalidArgument)
	}},
}

func where(path, op string, v any) firestore.EntityFilter {
	return firestore.PropertyFilter{Path: path, Operator: op, Value: v}
}

func either(fs ...firestore.EntityFilter) firestore.EntityFilter {
	return firestore.OrFilter{Filters: fs}
}

func both(fs ...firestore.EntityFilter) firestore.EntityFilter {
	return firestore.AndFilter{Filters: fs}
}

// upTo lists the integers from zero, n of them.
func upTo(n int) (out []any) {
	for i := range n {
		out = append(out, i)
	}
	return out
}
