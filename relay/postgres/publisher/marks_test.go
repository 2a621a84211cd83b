package publisher

import (
	"strings"
	"testing"
)

// refuseMarks has the database take claims and no marks, as one whose disk is full may, until the returned function is called.
func (f *fixture) refuseMarks() (end func()) {
	f.Helper()
	execute := func(sql string) {
		f.Helper()
		if _, err := f.pool.Exec(f.Context(), sql); err != nil {
			f.Fatalf("%s: %v", sql, err)
		}
	}
	execute(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$`)
	execute(`CREATE TRIGGER refuse BEFORE UPDATE ON outbox_events FOR EACH ROW EXECUTE FUNCTION refuse()`)
	return func() { execute(`DROP TRIGGER refuse ON outbox_events`) }
}

// While no mark is taken, a round that finds all rows at others has proven nothing: the publisher is ready once one marks
// again, or nothing waits any more.
func TestNotReadyWhileMarksFailThoughOthersHaveTheRows(t *testing.T) {
	t.Parallel()
	for name, upTo := range map[string]int64{"indexed": 0, "plain": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, upTo)
			f.append(events(3, 2)...)
			end := f.refuseMarks()
			p, err := New(f.options())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.workers.end)
			p.lookForIndex(t.Context())
			look := look{window: sight * p.opts.Batch}
			for range streakMost {
				if r := p.round(t.Context(), look); !r.unmarked || r.err == nil {
					t.Fatalf("a round ends as %+v", r)
				}
			}
			other, err := f.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer other.Rollback(t.Context())
			if _, err := other.Exec(t.Context(), `SELECT FROM outbox_events FOR UPDATE`); err != nil {
				t.Fatal(err)
			}
			for _, l := range []string{"window", "walk"} {
				if l == "walk" {
					if look.window = walking; !p.indexed.Load() {
						continue
					}
				}
				if r := p.round(t.Context(), look); r.err != nil || r.claimed != 0 || r.sight == 0 {
					t.Fatalf("%s: a round beside another ends as %+v", l, r)
				}
				if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "53100") {
					t.Errorf("%s: beside another, ready says %v", l, err)
				}
			}
			if err := other.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			end()
			if _, err := f.pool.Exec(t.Context(), `UPDATE outbox_events SET attempt_count = 10`); err != nil { // others have parked them all
				t.Fatal(err)
			}
			if r := p.round(t.Context(), look); r.err != nil || r.sight != 0 {
				t.Fatalf("a round where nothing may go ends as %+v", r)
			}
			if err := p.Ready(t.Context()); err != nil {
				t.Errorf("once nothing may go, ready says %v", err)
			}
		})
	}
}

// A publisher whose marks fail has one round under way, and publishes again no more than that.
func TestMarksThatFailCallNoAssistant(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	o := f.options()
	o.Batch = 2
	f.append(events(9, 1)...)
	f.refuseMarks()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.workers.end)
	p.lookForIndex(t.Context())
	p.solo.Store(soloFor) // it has seen nobody else for long
	look := look{window: sight * o.Batch}
	if r := p.round(t.Context(), look); r.err == nil {
		t.Fatal("a mark was taken")
	}
	for len(p.more) > 0 { // called before the mark was tried
		<-p.more
	}
	if p.round(t.Context(), look); len(p.more) > 0 {
		t.Error("the assistant is called")
	}
}
