package conformance

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var documents = []test{
	{"every type survives", func(e *env) {
		d, other := e.doc(), e.doc()
		want := fields{
			"null": nil, "bool": true, "int": int64(math.MaxInt64), "double": 1.5, "inf": math.Inf(1),
			"time": time.Date(2026, 2, 3, 4, 5, 6, 789_012_000, time.UTC),
			"text": "héllo\x00wörld", "bytes": []byte{0, 1, 255}, "empty": "",
			"array": []any{int64(1), "two", fields{"three": 3.0}}, "none": []any{}, "map": fields{"a": fields{"b": int64(1)}}, "bare": fields{},
		}
		data := fields{"ref": other, "geo": &latlng.LatLng{Latitude: 1.5, Longitude: -2.5}}
		maps.Copy(data, want)
		e.set(d, data)
		got := e.get(d).Data()
		e.equal(other.Path, got["ref"].(*firestore.DocumentRef).Path)
		e.equal(1.5, got["geo"].(*latlng.LatLng).Latitude)
		delete(got, "ref")
		delete(got, "geo")
		e.equal(want, got)
	}},
	{"NaN survives", func(e *env) {
		d := e.doc()
		e.set(d, fields{"x": math.NaN()})
		if got := e.get(d).Data()["x"].(float64); !math.IsNaN(got) {
			e.Fatalf("want NaN, got %v", got)
		}
	}},
	{"times are cut to microseconds", func(e *env) {
		d := e.doc()
		at := time.Date(2026, 1, 1, 0, 0, 0, 123_456_789, time.UTC)
		e.set(d, fields{"at": at})
		e.wantData(d, fields{"at": at.Truncate(time.Microsecond)})
	}},
	{"set replaces", func(e *env) {
		d := e.doc()
		e.set(d, fields{"a": 1, "b": 2})
		e.set(d, fields{"b": 3})
		e.wantData(d, fields{"b": int64(3)})
	}},
	{"set with merge keeps the rest", func(e *env) {
		d := e.doc()
		e.set(d, fields{"a": 1, "m": fields{"x": 1, "y": 2}})
		_, err := d.Set(e.ctx, fields{"b": 2, "m": fields{"x": 9}}, firestore.MergeAll)
		e.ok(err)
		e.wantData(d, fields{"a": int64(1), "b": int64(2), "m": fields{"x": int64(9), "y": int64(2)}})
	}},
	{"merge makes a document", func(e *env) {
		d := e.doc()
		_, err := d.Set(e.ctx, fields{"a": 1}, firestore.MergeAll)
		e.ok(err)
		e.wantData(d, fields{"a": int64(1)})
	}},
	{"merge of chosen fields", func(e *env) {
		d := e.doc()
		e.set(d, fields{"a": 1, "b": fields{"c": 1, "d": 1}})
		_, err := d.Set(e.ctx, fields{"a": 2, "b": fields{"c": 2}}, firestore.Merge([]string{"b", "c"}))
		e.ok(err)
		e.wantData(d, fields{"a": int64(1), "b": fields{"c": int64(2), "d": int64(1)}})
	}},
	{"update of paths", func(e *env) {
		d := e.doc()
		e.set(d, fields{"a": 1, "m": fields{"x": 1, "y": fields{"z": 1}}, "s": "text"})
		_, err := d.Update(e.ctx, []firestore.Update{
			{Path: "m.x", Value: 2},
			{Path: "m.y.w", Value: 3},
			{Path: "s.t", Value: 4}, // a text gives way to a map
			{Path: "a", Value: firestore.Delete},
			{Path: "m.none", Value: firestore.Delete},
		})
		e.ok(err)
		e.wantData(d, fields{
			"m": fields{"x": int64(2), "y": fields{"z": int64(1), "w": int64(3)}},
			"s": fields{"t": int64(4)},
		})
	}},
	{"delete of a nested field leaves its map", func(e *env) {
		d := e.doc()
		e.set(d, fields{"m": fields{"x": 1}})
		_, err := d.Update(e.ctx, []firestore.Update{{Path: "m.x", Value: firestore.Delete}})
		e.ok(err)
		e.wantData(d, fields{"m": fields{}})
	}},
	{"fields with odd names", func(e *env) {
		d := e.doc()
		names := []string{"a.b", "with space", "`tick`", `back\slash`, "1digit", "-", "ünïcode", "*/[]~", "a`.`b", "__x", "y__"}
		data := fields{}
		for _, n := range names {
			data[n] = "old"
		}
		e.set(d, data)
		var updates []firestore.Update
		want := fields{}
		for i, n := range names {
			updates = append(updates, firestore.Update{FieldPath: firestore.FieldPath{n}, Value: i})
			want[n] = int64(i)
		}
		_, err := d.Update(e.ctx, updates)
		e.ok(err)
		e.wantData(d, want)
		for i, n := range names {
			q := d.Parent.WherePath(firestore.FieldPath{n}, "==", i).OrderByPath(firestore.FieldPath{n}, firestore.Asc)
			e.wantIDs(q, "d")
		}
	}},
	{"times of a document", func(e *env) {
		d := e.doc()
		first := e.set(d, fields{"a": 1})
		s := e.get(d)
		e.equal(first, s.CreateTime)
		e.equal(first, s.UpdateTime)
		if s.ReadTime.Before(first) {
			e.Fatalf("read at %v, before the write at %v", s.ReadTime, first)
		}
		second := e.set(d, fields{"a": 2})
		s = e.get(d)
		e.equal(first, s.CreateTime)
		e.equal(second, s.UpdateTime)
		if !second.After(first) {
			e.Fatalf("second write at %v, first at %v", second, first)
		}
	}},
	{"a write of the same is none", func(e *env) {
		d := e.doc()
		first := e.set(d, fields{"a": 1, "b": fields{"c": "x"}})
		e.equal(first, e.set(d, fields{"b": fields{"c": "x"}, "a": 1}))
		r, err := d.Update(e.ctx, []firestore.Update{{Path: "b.c", Value: "x"}})
		e.ok(err)
		e.equal(first, r.UpdateTime)
		e.equal(first, e.get(d).UpdateTime)
	}},
	{"an integer is not the same as its double", func(e *env) {
		d := e.doc()
		first := e.set(d, fields{"a": 1})
		if second := e.set(d, fields{"a": 1.0}); !second.After(first) {
			e.Fatal("want a new update time")
		}
	}},
	{"a document that was deleted is made anew", func(e *env) {
		d := e.doc()
		first := e.set(d, fields{"a": 1})
		_, err := d.Delete(e.ctx)
		e.ok(err)
		_, err = d.Get(e.ctx)
		e.code(err, codes.NotFound)
		e.set(d, fields{"a": 1})
		if s := e.get(d); !s.CreateTime.After(first) {
			e.Fatalf("want a new create time, got %v", s.CreateTime)
		}
	}},
	{"delete of nothing is no fault", func(e *env) {
		_, err := e.doc().Delete(e.ctx)
		e.ok(err)
	}},
	{"get of many", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"n": 1}, "c": {"n": 3}})
		got, err := e.client.GetAll(e.ctx, []*firestore.DocumentRef{c.Doc("c"), c.Doc("b"), c.Doc("a")})
		e.ok(err)
		e.equal([]string{"c", "b", "a"}, idsOf(got))
		e.equal(false, got[1].Exists())
		e.equal(fields{"n": int64(3)}, got[0].Data())
	}},
	{"create under an ID of the client's", func(e *env) {
		d, _, err := e.collection().Add(e.ctx, fields{"a": 1})
		e.ok(err)
		e.wantData(d, fields{"a": int64(1)})
	}},
	{"subcollections outlive their parent", func(e *env) {
		d := e.doc()
		e.set(d, fields{})
		sub := d.Collection("sub").Doc("x")
		e.set(sub, fields{"a": 1})
		_, err := d.Delete(e.ctx)
		e.ok(err)
		e.wantData(sub, fields{"a": int64(1)})
	}},
	{"list of documents, missing ones too", func(e *env) {
		c := e.collection()
		e.set(c.Doc("a"), fields{})
		e.set(c.Doc("b").Collection("sub").Doc("x"), fields{})
		for i := range 3 {
			e.set(c.Doc(fmt.Sprint("c", i)), fields{})
		}
		refs, err := c.DocumentRefs(e.ctx).GetAll()
		e.ok(err)
		var got []string
		for _, r := range refs {
			got = append(got, r.ID)
		}
		e.equal([]string{"a", "b", "c0", "c1", "c2"}, got)
	}},
	{"list of collections", func(e *env) {
		d := e.doc()
		for _, id := range []string{"z", "a", "m"} {
			e.set(d.Collection(id).Doc("x"), fields{})
		}
		e.set(d.Collection("m").Doc("x").Collection("deeper").Doc("y"), fields{})
		var got []string
		for it := d.Collections(e.ctx); ; {
			c, err := it.Next()
			if errors.Is(err, iterator.Done) {
				break
			}
			e.ok(err)
			got = append(got, c.ID)
		}
		e.equal([]string{"a", "m", "z"}, got)
	}},
	{"a document of a megabyte is too large", func(e *env) {
		d := e.doc()
		e.set(d, fields{"x": strings.Repeat("a", 1<<20-200)})
		_, err := d.Set(e.ctx, fields{"x": strings.Repeat("a", 1<<20)})
		e.code(err, codes.InvalidArgument)
	}},
	{"twenty levels of nesting are the most", func(e *env) {
		nested := func(levels int) fields {
			f := fields{"x": 1}
			for range levels {
				f = fields{"m": f}
			}
			return f
		}
		d := e.doc()
		e.set(d, nested(19))
		_, err := d.Set(e.ctx, nested(25))
		e.code(err, codes.InvalidArgument)
	}},
	{"the names that lead to a value have 1500 bytes at most", func(e *env) {
		x := func(n int) string { return strings.Repeat("x", n) }
		for _, tc := range []struct {
			lead string // to the value under a name of so many bytes that all are 1500
			in   func(name string) fields
		}{
			{"a map", func(name string) fields { return fields{x(1000): fields{name: 1}} }},
			{"an empty map", func(name string) fields { return fields{x(1000): fields{name: fields{}}} }},
			{"names that want quotes", func(name string) fields { return fields{strings.Repeat("-", 1000): fields{name: nil}} }},
			{"two bytes a letter", func(name string) fields { return fields{strings.Repeat("ü", 500): fields{name: 1}} }},
			{"three maps", func(name string) fields { return fields{x(500): fields{x(499): fields{name: 1}}} }},
			{"an array", func(name string) fields { return fields{x(1000): []any{fields{name: 1}}} }},
		} {
			d := e.doc()
			e.set(d, tc.in(x(499)))
			if _, err := d.Set(e.ctx, tc.in(x(500))); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "contains an invalid nested entity") {
				e.Errorf("%s: %.200v, want it refused", tc.lead, err)
			}
		}
	}},
	{"a path of 1500 bytes is too long for masks and queries", func(e *env) {
		d := e.doc()
		e.set(d, fields{"a": 1})
		for _, long := range []firestore.FieldPath{{strings.Repeat("x", 1500)}, {strings.Repeat("x", 1000), strings.Repeat("-", 499)}} {
			_, err := d.Update(e.ctx, []firestore.Update{{FieldPath: long, Value: 1}})
			e.code(err, codes.InvalidArgument)
			_, err = d.Update(e.ctx, []firestore.Update{{FieldPath: long, Value: firestore.Delete}})
			e.code(err, codes.InvalidArgument)
			c := d.Parent
			for _, q := range []firestore.Query{c.WherePath(long, "==", 1), c.OrderByPath(long, firestore.Asc), c.SelectPaths(long)} {
				_, err := q.Documents(e.ctx).GetAll()
				e.code(err, codes.InvalidArgument)
			}
			last := len(long) - 1
			long[last] = long[last][1:]
			_, err = d.Update(e.ctx, []firestore.Update{{FieldPath: long, Value: 1}})
			e.ok(err)
			_, err = c.WherePath(long, "==", 1).Documents(e.ctx).GetAll()
			e.ok(err)
		}
	}},
	{"an array within an array is refused", func(e *env) {
		_, err := e.doc().Set(e.ctx, fields{"a": []any{[]any{1}}})
		e.code(err, codes.InvalidArgument)
	}},
}

var names = []test{
	{"IDs with odd characters", func(e *env) {
		c := e.collection()
		for _, id := range []string{"a.b", "a b", "ü", "e1:agg:1", "%2F", "`", "..a", "_x_", "__x", "x__", "__", "___", "____", "#?&=+"} {
			e.set(c.Doc(id), fields{"id": id})
			e.wantData(c.Doc(id), fields{"id": id})
			e.equal(id, e.get(c.Doc(id)).Ref.ID)
			e.wantIDs(c.Where(firestore.DocumentID, "==", c.Doc(id)), id)
		}
	}},
	{"reserved IDs are refused", func(e *env) {
		c := e.collection()
		for _, id := range []string{".", "..", "__x__"} {
			_, err := c.Doc(id).Set(e.ctx, fields{})
			e.code(err, codes.InvalidArgument)
		}
	}},
	{"an ID has 1500 bytes at most", func(e *env) {
		c := e.collection()
		e.set(c.Doc(strings.Repeat("x", 1500)), fields{})
		_, err := c.Doc(strings.Repeat("x", 1501)).Set(e.ctx, fields{})
		e.code(err, codes.InvalidArgument)
	}},
	{"reserved field names are refused", func(e *env) {
		_, err := e.doc().Set(e.ctx, fields{"__x__": 1})
		e.code(err, codes.InvalidArgument)
	}},
}
