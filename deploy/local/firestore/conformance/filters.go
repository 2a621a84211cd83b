package conformance

import (
	"math"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/genproto/googleapis/type/latlng"
)

// values is a collection whose documents hold, as x, a value of each type, in
// Firestore's order of the IDs; document "z" has no x.
func (e *env) values() *firestore.CollectionRef {
	s := e.suite
	s.values.Do(func() {
		c := e.collection()
		docs := map[string]fields{
			"a-null": {"x": nil}, "b-false": {"x": false}, "c-true": {"x": true},
			"d-nan": {"x": math.NaN()}, "e-neginf": {"x": math.Inf(-1)}, "f-neg": {"x": -1.5}, "g-zero": {"x": 0},
			"h-one": {"x": 1}, "i-onehalf": {"x": 1.5}, "j-big": {"x": int64(1) << 53}, "k-inf": {"x": math.Inf(1)},
			"l-early": {"x": time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)}, "m-late": {"x": time.Date(2026, 1, 1, 0, 0, 0, 1000, time.UTC)},
			"n-empty": {"x": ""}, "o-a": {"x": "a"}, "p-a0": {"x": "a\x00b"}, "q-ab": {"x": "ab"}, "r-u": {"x": "ü"},
			"s-bytes": {"x": []byte{1}}, "t-ref": {"x": c.Doc("a")}, "u-geo": {"x": &latlng.LatLng{Latitude: 1, Longitude: 2}},
			"v-array": {"x": []any{"a", 1}}, "w-array2": {"x": []any{"b"}},
			"x-map": {"x": fields{"a": 1}}, "y-map2": {"x": fields{"b": 0}},
			"z": {"y": 1},
		}
		e.fill(c, docs)
		s.valuesColl = c
	})
	if s.valuesColl == nil {
		e.Fatal("the shared documents could not be written")
	}
	return s.valuesColl
}

// x runs a query for x on the shared values.
func (e *env) x(op string, v any, want ...string) {
	e.Helper()
	e.wantIDs(e.values().Where("x", op, v), want...)
}

var filters = []test{
	{"equal", func(e *env) {
		e.x("==", 1, "h-one")
		e.x("==", 1.0, "h-one")
		e.x("==", "a", "o-a")
		e.x("==", true, "c-true")
		e.x("==", nil, "a-null")
		e.x("==", math.NaN(), "d-nan")
		e.x("==", []any{"a", 1.0}, "v-array")
		e.x("==", fields{"a": 1}, "x-map")
		e.x("==", []byte{1}, "s-bytes")
		e.x("==", e.values().Doc("a"), "t-ref")
		e.x("==", "none")
	}},
	{"inequalities hold within a type", func(e *env) {
		e.x("<", 1, "e-neginf", "f-neg", "g-zero")
		e.x("<=", 1, "e-neginf", "f-neg", "g-zero", "h-one")
		e.x(">", 1, "i-onehalf", "j-big", "k-inf")
		e.x(">=", 1, "h-one", "i-onehalf", "j-big", "k-inf")
		e.x(">", "a", "p-a0", "q-ab", "r-u")
		e.x("<", "ab", "n-empty", "o-a", "p-a0")
		e.x(">=", false, "b-false", "c-true")
		e.x("<", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), "l-early")
		e.x(">", []any{"a", 0}, "v-array", "w-array2")
		e.x(">", fields{"a": 1}, "y-map2")
	}},
	{"inequalities of integers beyond doubles", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": int64(1)<<53 + 1}, "b": {"x": float64(1 << 53)}})
		e.wantIDs(c.Where("x", ">", int64(1)<<53), "a")
		e.wantIDs(c.OrderBy("x", firestore.Asc), "b", "a")
	}},
	{"descending inequality", func(e *env) {
		q := e.values().Where("x", ">", "a").OrderBy("x", firestore.Desc)
		e.wantIDs(q, "r-u", "q-ab", "p-a0")
		q = e.values().Where("x", "<=", 0).OrderBy("x", firestore.Desc)
		e.wantIDs(q, "g-zero", "f-neg", "e-neginf")
	}},
	{"two bounds", func(e *env) {
		e.wantIDs(e.values().Where("x", ">", 0).Where("x", "<=", 1.5), "h-one", "i-onehalf")
		e.wantIDs(e.values().Where("x", ">", 5).Where("x", "<", 2))
	}},
	{"not equal", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 1}, "b": {"x": "b"}, "c": {"x": nil}, "d": {"y": 1}, "e": {"x": math.NaN()}})
		e.wantIDs(c.Where("x", "!=", 1), "e", "b")
		e.wantIDs(c.Where("x", "!=", nil), "e", "a", "b")
		e.wantIDs(c.Where("x", "!=", math.NaN()), "a", "b")
	}},
	{"in", func(e *env) {
		e.x("in", []any{"a", 1, "none", true}, "c-true", "h-one", "o-a")
		c := e.values()
		e.wantIDs(c.Where(firestore.DocumentID, "in", []*firestore.DocumentRef{c.Doc("o-a"), c.Doc("b-false"), c.Doc("?")}), "b-false", "o-a")
	}},
	{"not in", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 1}, "b": {"x": "b"}, "c": {"x": nil}, "d": {"y": 1}, "e": {"x": "a"}})
		e.wantIDs(c.Where("x", "not-in", []any{1, "zz"}), "e", "b")
		e.wantIDs(c.Where("x", "not-in", []any{1, nil}))
	}},
	{"nothing equals NaN in a list", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 1}, "b": {"x": math.NaN()}, "c": {"x": []any{math.NaN()}}, "d": {"x": nil}})
		e.wantIDs(c.Where("x", "in", []any{1, math.NaN()}), "a")
		e.wantIDs(c.Where("x", "in", []any{math.NaN()}))
		e.wantIDs(c.Where("x", "not-in", []any{1, math.NaN()}), "b", "c")
		e.wantIDs(c.Where("x", "array-contains-any", []any{1, math.NaN()}))
		e.wantIDs(c.Where("x", "in", []any{[]any{math.NaN()}}), "c")
	}},
	{"array contains", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{
			"a": {"x": []any{"a", 1}}, "b": {"x": []any{"b", nil}}, "c": {"x": "a"}, "d": {"x": []any{}}, "e": {"x": []any{1.0, fields{"k": "v"}}},
		})
		e.wantIDs(c.Where("x", "array-contains", "a"), "a")
		e.wantIDs(c.Where("x", "array-contains", 1), "a", "e")
		e.wantIDs(c.Where("x", "array-contains", fields{"k": "v"}), "e")
		e.wantIDs(c.Where("x", "array-contains-any", []any{"a", "b"}), "a", "b")
	}},
	{"and", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{
			"a": {"lane": "L", "status": "pending", "n": 1}, "b": {"lane": "L", "status": "done", "n": 2},
			"c": {"lane": "M", "status": "pending", "n": 3}, "d": {"lane": "L", "status": "pending", "n": 4},
		})
		e.index(c, "lane", "status", "n")
		e.index(c, "lane", "status", "-n")
		e.index(c, "status", "lane")
		e.index(c, "lane", "n", "status")
		q := c.Where("lane", "==", "L").Where("status", "==", "pending")
		e.wantIDs(q, "a", "d")
		e.wantIDs(q.Where("n", ">", 1), "d")
		e.wantIDs(q.OrderBy("n", firestore.Desc), "d", "a")
		e.wantIDs(q.Where("status", "==", "done"))
		e.wantIDs(c.Where("status", "==", "pending").Where("lane", "not-in", []string{"L", "K"}), "c")
		e.wantIDs(c.Where("lane", "in", []string{"L", "M"}).Where("n", ">=", 2).Where("status", "!=", "done"), "c", "d")
	}},
	{"or", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{
			"a": {"x": 1, "y": 1}, "b": {"x": 2, "y": 1}, "c": {"x": 3, "y": 3}, "d": {"y": 1},
		})
		e.index(c, "y", "x")
		e.index(c, "y", "-x")
		either := func(fs ...firestore.EntityFilter) firestore.Query {
			return c.WhereEntity(firestore.OrFilter{Filters: fs})
		}
		x := func(op string, v any) firestore.EntityFilter {
			return firestore.PropertyFilter{Path: "x", Operator: op, Value: v}
		}
		y := func(v any) firestore.EntityFilter {
			return firestore.PropertyFilter{Path: "y", Operator: "==", Value: v}
		}
		e.wantIDs(either(x("==", 1), y(3)), "a", "c")
		e.wantIDs(either(x("==", 1), y(1)), "a", "b", "d")
		e.wantIDs(either(x(">", 2), y(1)), "a", "b", "c") // d has no x to order by
		e.wantIDs(either(x("==", 3), firestore.AndFilter{Filters: []firestore.EntityFilter{x("==", 2), y(1)}}), "b", "c")
		e.wantIDs(either(x("==", 1), x("==", 2)).Where("y", "==", 1).OrderBy("x", firestore.Desc), "b", "a")
	}},
	{"by name", func(e *env) {
		c := e.numbered(4)
		e.wantIDs(c.Where(firestore.DocumentID, ">", c.Doc("d001")), "d002", "d003")
		e.wantIDs(c.Where(firestore.DocumentID, "<=", c.Doc("d001")), "d000", "d001")
		e.wantIDs(c.Where(firestore.DocumentID, "==", c.Doc("d002")).Where("n", "==", 2), "d002")
		e.wantIDs(c.Where(firestore.DocumentID, "!=", c.Doc("d002")), "d000", "d001", "d003")
	}},
	{"nested fields", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"m": fields{"x": 1}}, "b": {"m": fields{"x": 2}}, "c": {"m": 1}})
		e.wantIDs(c.Where("m.x", "==", 2), "b")
		e.wantIDs(c.OrderBy("m.x", firestore.Desc), "b", "a")
	}},
}
