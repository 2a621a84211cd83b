package firestore

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"
)

// The model: documents with a lane and a number, either of which may be missing,
// and queries over them, evaluated as plainly as can be.

type modelDoc struct {
	id   string
	lane string // "" for none
	n    int    // missing for none
}

const missing = -1000

type modelQuery struct {
	lanes      []string // lane in these; nil for any
	notLanes   []string // lane not in these; nil for any
	above      int      // n > above; missing for any
	byNumber   bool     // order by n
	descending bool
	after      int // cursor on n, with byNumber; missing for none
	offset     int
	limit      int // -1 for none
}

func (q modelQuery) matches(d modelDoc) bool {
	return (q.lanes == nil || slices.Contains(q.lanes, d.lane)) &&
		(q.notLanes == nil || (d.lane != "" && !slices.Contains(q.notLanes, d.lane))) &&
		(q.above == missing || (d.n != missing && d.n > q.above)) &&
		(!q.byNumber || d.n != missing)
}

// columns are what a result is ordered by, before the ID.
func (q modelQuery) columns(d modelDoc) (n int, lane string) {
	if q.byNumber || q.above != missing {
		n = d.n
	}
	if q.notLanes != nil {
		lane = d.lane
	}
	return n, lane
}

func (q modelQuery) run(docs map[string]modelDoc) []string {
	var found []modelDoc
	for _, d := range docs {
		if q.matches(d) {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b modelDoc) int {
		an, al := q.columns(a)
		bn, bl := q.columns(b)
		c := cmp.Or(cmp.Compare(an, bn), cmp.Compare(al, bl), cmp.Compare(a.id, b.id))
		if !q.byNumber { // the fields of inequalities are ordered by name: lane, then n
			c = cmp.Or(cmp.Compare(al, bl), cmp.Compare(an, bn), cmp.Compare(a.id, b.id))
		}
		if q.descending {
			c = -c
		}
		return c
	})
	if q.after != missing {
		found = slices.DeleteFunc(found, func(d modelDoc) bool {
			return (!q.descending && d.n <= q.after) || (q.descending && d.n >= q.after)
		})
	}
	ids := []string{}
	for _, d := range found[min(q.offset, len(found)):] {
		if q.limit >= 0 && len(ids) == q.limit {
			break
		}
		ids = append(ids, d.id)
	}
	return ids
}

func textValue(s string) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_StringValue{StringValue: s}}
}

func fieldFilter(path string, op pb.StructuredQuery_FieldFilter_Operator, v *pb.Value) *pb.StructuredQuery_Filter {
	return &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_FieldFilter{FieldFilter: &pb.StructuredQuery_FieldFilter{
		Field: &pb.StructuredQuery_FieldReference{FieldPath: path}, Op: op, Value: v,
	}}}
}

func texts(list []string) *pb.Value {
	var values []*pb.Value
	for _, s := range list {
		values = append(values, textValue(s))
	}
	return arrayValue(values)
}

func (q modelQuery) structured() *pb.StructuredQuery {
	out := &pb.StructuredQuery{From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: "c"}}, Offset: int32(q.offset)}
	var filters []*pb.StructuredQuery_Filter
	if len(q.lanes) == 1 {
		filters = append(filters, fieldFilter("lane", pb.StructuredQuery_FieldFilter_EQUAL, textValue(q.lanes[0])))
	} else if q.lanes != nil {
		filters = append(filters, fieldFilter("lane", pb.StructuredQuery_FieldFilter_IN, texts(q.lanes)))
	}
	if q.notLanes != nil {
		filters = append(filters, fieldFilter("lane", pb.StructuredQuery_FieldFilter_NOT_IN, texts(q.notLanes)))
	}
	if q.above != missing {
		filters = append(filters, fieldFilter("n", pb.StructuredQuery_FieldFilter_GREATER_THAN, integerValue(int64(q.above))))
	}
	if len(filters) > 0 {
		out.Where = &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_CompositeFilter{CompositeFilter: &pb.StructuredQuery_CompositeFilter{
			Op: pb.StructuredQuery_CompositeFilter_AND, Filters: filters,
		}}}
	}
	if q.byNumber {
		direction := pb.StructuredQuery_ASCENDING
		if q.descending {
			direction = pb.StructuredQuery_DESCENDING
		}
		out.OrderBy = []*pb.StructuredQuery_Order{{Field: &pb.StructuredQuery_FieldReference{FieldPath: "n"}, Direction: direction}}
	}
	if q.after != missing {
		out.StartAt = &pb.Cursor{Values: []*pb.Value{integerValue(int64(q.after))}}
	}
	if q.limit >= 0 {
		out.Limit = wrapperspb.Int32(int32(q.limit))
	}
	return out
}

var drawnLanes = []string{"A", "B", "C"}

func drawQuery(t *rapid.T) modelQuery {
	q := modelQuery{above: missing, after: missing, limit: rapid.SampledFrom([]int{-1, 1, 2, 3, 5}).Draw(t, "limit")}
	switch rapid.IntRange(0, 3).Draw(t, "lanes") {
	case 1:
		q.lanes = []string{rapid.SampledFrom(drawnLanes).Draw(t, "lane")}
	case 2:
		q.lanes = drawnLanes[:2]
	case 3:
		q.notLanes = drawnLanes[1:]
	}
	if rapid.Bool().Draw(t, "inequality") {
		q.above = rapid.IntRange(-2, 4).Draw(t, "above")
	}
	if q.byNumber = rapid.Bool().Draw(t, "order"); q.byNumber {
		q.descending = rapid.Bool().Draw(t, "descending")
		if rapid.Bool().Draw(t, "cursor") {
			q.after = rapid.IntRange(-2, 6).Draw(t, "after")
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "skip") == 0 {
		q.offset = rapid.IntRange(1, 3).Draw(t, "offset")
	}
	return q
}

// modelListener is a client of Listen: what it has, and how far that goes.
type modelListener struct {
	model modelQuery
	query *query
	t     *target // nil while it is away
	has   map[string]*record
	token []byte
}

type machine struct {
	s         *Server
	db        *database
	docs      map[string]modelDoc
	listeners []*modelListener
}

func (m *machine) connect(t *rapid.T, l *modelListener) {
	v, err := m.s.lease(t.Context(), m.db, l.query.shape)
	if err != nil {
		t.Fatal(err)
	}
	l.t = &target{id: 1, wake: func() {}, query: l.query, view: v}
	in := &pb.Target{}
	if l.token != nil {
		in.ResumeType = &pb.Target_ResumeToken{ResumeToken: l.token}
	}
	m.s.attach(m.db, l.t, in)
	if l.t.reset {
		clear(l.has)
	}
	m.poll(t, l)
}

func (m *machine) poll(t *rapid.T, l *modelListener) {
	notices, at := m.s.collect(m.db, []*target{l.t})
	for _, n := range notices {
		if n.kind == added {
			l.has[n.rec.path] = n.rec
			continue
		}
		if l.has[n.path] == nil {
			t.Fatalf("%+v: told that %s is gone, which it did not have", l.model, n.path)
		}
		if exists := m.db.get(n.path) != nil; exists != (n.kind == removed) {
			t.Fatalf("%+v: %s exists: %v, told otherwise", l.model, n.path, exists)
		}
		delete(l.has, n.path)
	}
	l.token = m.s.token(at)
	got := []string{}
	for path, r := range l.has {
		if m.db.get(path) != r {
			t.Fatalf("%+v: has an old version of %s", l.model, path)
		}
		got = append(got, r.id())
	}
	slices.Sort(got)
	want := l.model.run(m.docs)
	slices.Sort(want)
	if d := gocmp.Diff(want, got); d != "" {
		t.Fatalf("%+v: listener: -want +got:\n%s", l.model, d)
	}
}

func (m *machine) write(t *rapid.T) {
	var writes []*pb.Write
	for range rapid.IntRange(1, 4).Draw(t, "writes") {
		d := modelDoc{id: fmt.Sprintf("d%d", rapid.IntRange(0, 11).Draw(t, "id")), n: missing}
		name := testDatabase + "/documents/c/" + d.id
		if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			delete(m.docs, d.id)
			writes = append(writes, &pb.Write{Operation: &pb.Write_Delete{Delete: name}})
			continue
		}
		fields := map[string]*pb.Value{"other": integerValue(rapid.Int64Range(0, 2).Draw(t, "other"))}
		if d.lane = rapid.SampledFrom(append(drawnLanes, "")).Draw(t, "lane"); d.lane != "" {
			fields["lane"] = textValue(d.lane)
		}
		if rapid.IntRange(0, 4).Draw(t, "numbered") > 0 {
			d.n = rapid.IntRange(-3, 6).Draw(t, "n")
			fields["n"] = integerValue(int64(d.n))
			if rapid.Bool().Draw(t, "double") {
				fields["n"] = &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: float64(d.n)}}
			}
		}
		m.docs[d.id] = d
		writes = append(writes, &pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{Name: name, Fields: fields}}})
	}
	if _, err := m.s.Commit(t.Context(), &pb.CommitRequest{Database: testDatabase, Writes: writes}); err != nil {
		t.Fatal(err)
	}
}

// TestModel compares queries, and what listeners end up with, with the model's,
// through writes, away times, forgotten histories and dropped views.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open(Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m := &machine{s: s, db: s.database(testDatabase), docs: map[string]modelDoc{}}
		compiled := func(q modelQuery) *query {
			c, err := compile(testDatabase+"/documents", q.structured())
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		pick := func() *modelListener {
			if len(m.listeners) == 0 {
				t.Skip("no listener yet")
			}
			return rapid.SampledFrom(m.listeners).Draw(t, "listener")
		}
		t.Repeat(map[string]func(*rapid.T){
			"write":  m.write,
			"write2": m.write,
			"query": func(t *rapid.T) {
				q := drawQuery(t)
				records, _, err := s.results(t.Context(), compiled(q), reading{db: m.db})
				if err != nil {
					t.Fatal(err)
				}
				got := []string{}
				for _, r := range records {
					got = append(got, r.id())
				}
				if d := gocmp.Diff(q.run(m.docs), got); d != "" {
					t.Fatalf("%+v: query: -want +got:\n%s", q, d)
				}
			},
			"listen": func(t *rapid.T) {
				if len(m.listeners) == 6 {
					t.Skip("enough listeners")
				}
				q := drawQuery(t)
				l := &modelListener{model: q, query: compiled(q), has: map[string]*record{}}
				m.listeners = append(m.listeners, l)
				m.connect(t, l)
			},
			"poll": func(t *rapid.T) {
				if l := pick(); l.t != nil {
					m.poll(t, l)
				}
			},
			"leave or return": func(t *rapid.T) {
				if l := pick(); l.t == nil {
					m.connect(t, l)
				} else {
					s.detach(m.db, l.t)
					l.t = nil
				}
			},
			"forget": func(*rapid.T) { m.db.history.forget(s.clock.read()) },
			"drop views": func(*rapid.T) {
				for _, v := range m.db.views {
					v.used.Store(math.MinInt64)
				}
				m.db.dropViews(s.now())
			},
		})
		for _, l := range m.listeners {
			if l.t == nil {
				m.connect(t, l)
			}
			m.poll(t, l)
		}
	})
}
