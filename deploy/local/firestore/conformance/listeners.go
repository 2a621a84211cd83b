package conformance

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
)

func (e *env) update(d *firestore.DocumentRef, path string, v any) {
	e.Helper()
	_, err := d.Update(e.ctx, []firestore.Update{{Path: path, Value: v}})
	e.ok(err)
}

var listeners = []test{
	{"empty at first", func(e *env) {
		w := e.watch(e.collection().Query)
		w.want([]string{})
	}},
	{"added, modified, removed", func(e *env) {
		c := e.numbered(2)
		w := e.watch(c.Where("n", "<", 10).OrderBy("n", firestore.Asc))
		w.want([]string{"+d000", "+d001"}, "d000", "d001")
		e.set(c.Doc("x"), fields{"n": 0.5})
		w.want([]string{"+x"}, "d000", "x", "d001")
		e.set(c.Doc("x"), fields{"n": -1})
		w.want([]string{"~x"}, "x", "d000", "d001")
		e.set(c.Doc("x"), fields{"n": 99})
		w.want([]string{"-x"}, "d000", "d001")
		_, err := c.Doc("d000").Delete(e.ctx)
		e.ok(err)
		w.want([]string{"-d000"}, "d001")
	}},
	{"what does not match is not heard of", func(e *env) {
		c := e.numbered(1)
		w := e.watch(c.Where("n", "<", 10))
		w.want([]string{"+d000"})
		e.set(c.Doc("x"), fields{"n": 50})
		e.set(c.Doc("y"), fields{"n": 5})
		w.want([]string{"+y"})
	}},
	{"a write of the same is not heard of", func(e *env) {
		c := e.numbered(1)
		w := e.watch(c.Query)
		w.want([]string{"+d000"})
		e.set(c.Doc("d000"), fields{"n": 0})
		e.set(c.Doc("x"), fields{})
		w.want([]string{"+x"})
	}},
	{"a commit comes as one", func(e *env) {
		c := e.numbered(3)
		w := e.watch(c.Query)
		w.want([]string{"+d000", "+d001", "+d002"})
		for i := range 5 {
			b := e.batch().Delete(c.Doc(fmt.Sprintf("d%03d", i)))
			for j := range 3 {
				b.Set(c.Doc(fmt.Sprintf("d%03d", i+j+1)), fields{"n": i, "round": i})
			}
			_, err := b.Commit(e.ctx)
			e.ok(err)
		}
		for {
			_, snap := w.next()
			snaps, err := snap.Documents.GetAll()
			e.ok(err)
			e.equal(3, len(snaps))
			for _, s := range snaps {
				e.equal(snaps[0].Data()["round"], s.Data()["round"])
			}
			if snaps[0].Data()["round"] == int64(4) {
				return
			}
		}
	}},
	{"one update time, one read time", func(e *env) {
		c := e.collection()
		w := e.watch(c.Query)
		w.want([]string{})
		at := e.set(c.Doc("a"), fields{})
		snap := w.want([]string{"+a"})
		e.equal(at, snap.Changes[0].Doc.UpdateTime)
		if snap.ReadTime.Before(at) {
			e.Fatalf("snapshot of %v holds a write of %v", snap.ReadTime, at)
		}
	}},
	{"not in", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"lane": "L", "status": "pending"}, "b": {"lane": "X", "status": "pending"}, "c": {"status": "pending"}})
		e.index(c, "status", "lane")
		w := e.watch(c.Where("status", "==", "pending").Where("lane", "not-in", []string{"L", "M"}).Limit(10))
		w.want([]string{"+b"})
		e.update(c.Doc("a"), "lane", "Y")
		w.want([]string{"+a"})
		e.update(c.Doc("b"), "status", "dead")
		w.want([]string{"-b"})
	}},
	{"in and or", func(e *env) {
		c := e.numbered(4)
		w := e.watch(c.Where("n", "in", []int{1, 3}))
		w.want([]string{"+d001", "+d003"})
		e.update(c.Doc("d001"), "n", 7)
		w.want([]string{"-d001"}, "d003")
		o := e.watch(c.WhereEntity(firestore.OrFilter{Filters: []firestore.EntityFilter{
			firestore.PropertyFilter{Path: "n", Operator: "==", Value: 7},
			firestore.PropertyFilter{Path: "m", Operator: "==", Value: 1},
		}}))
		o.want([]string{"+d001"})
		e.update(c.Doc("d000"), "m", 1)
		o.want([]string{"+d000"}, "d000", "d001")
	}},
	{"a collection group", func(e *env) {
		d, group := e.doc(), e.collection().ID
		w := e.watch(e.client.CollectionGroup(group).Query)
		w.want([]string{})
		e.set(d.Collection(group).Doc("x"), fields{})
		w.want([]string{"+x"})
		e.set(e.client.Collection(group).Doc("y"), fields{})
		w.want([]string{"+y"})
	}},
	{"a document", func(e *env) {
		d := e.doc()
		ctx, cancel := context.WithCancel(e.ctx)
		it := d.Snapshots(ctx)
		defer it.Stop()
		defer cancel()
		next := func() *firestore.DocumentSnapshot {
			s, err := it.Next()
			e.ok(err)
			return s
		}
		e.equal(false, next().Exists())
		e.set(d, fields{"n": 1})
		e.equal(fields{"n": int64(1)}, next().Data())
		e.set(d, fields{"n": 2})
		e.equal(fields{"n": int64(2)}, next().Data())
		_, err := d.Delete(e.ctx)
		e.ok(err)
		e.equal(false, next().Exists())
	}},
	{"a query that is refused", func(e *env) {
		ctx, cancel := context.WithCancel(e.ctx)
		defer cancel()
		it := e.collection().Where("x", "in", []any{}).Snapshots(ctx)
		_, err := it.Next()
		e.code(err, codes.InvalidArgument)
	}},
	{"deleted and made again", func(e *env) {
		c := e.numbered(1)
		w := e.watch(c.Query)
		w.want([]string{"+d000"})
		_, err := c.Doc("d000").Delete(e.ctx)
		e.ok(err)
		e.set(c.Doc("d000"), fields{"n": 1})
		w.until("d000")
	}},
}

// windows are limited listeners.
var windows = []test{
	{"initial", func(e *env) {
		w := e.watch(e.numbered(6).OrderBy("n", firestore.Asc).Limit(3))
		w.want([]string{"+d000", "+d001", "+d002"}, "d000", "d001", "d002")
	}},
	{"refill", func(e *env) {
		c := e.collection()
		docs := map[string]fields{}
		for i := range 8 {
			docs[fmt.Sprintf("d%03d", i)] = fields{"lane": "L", "status": "pending", "n": i}
		}
		e.fill(c, docs)
		e.index(c, "lane", "status", "n")
		w := e.watch(c.Where("lane", "==", "L").Where("status", "==", "pending").OrderBy("n", firestore.Asc).Limit(4))
		w.want([]string{"+d000", "+d001", "+d002", "+d003"})
		_, err := e.batch().
			Update(c.Doc("d000"), []firestore.Update{{Path: "status", Value: "done"}}).
			Update(c.Doc("d001"), []firestore.Update{{Path: "status", Value: "done"}}).
			Commit(e.ctx)
		e.ok(err)
		w.want([]string{"-d000", "-d001", "+d004", "+d005"}, "d002", "d003", "d004", "d005")
		_, err = c.Doc("d003").Delete(e.ctx)
		e.ok(err)
		w.want([]string{"-d003", "+d006"}, "d002", "d004", "d005", "d006")
	}},
	{"eviction", func(e *env) {
		c := e.numbered(3)
		w := e.watch(c.OrderBy("n", firestore.Asc).Limit(3))
		w.want([]string{"+d000", "+d001", "+d002"})
		e.set(c.Doc("early"), fields{"n": -1})
		w.want([]string{"-d002", "+early"}, "early", "d000", "d001")
	}},
	{"a change beyond the window is not heard of", func(e *env) {
		c := e.numbered(4)
		w := e.watch(c.OrderBy("n", firestore.Asc).Limit(2))
		w.want([]string{"+d000", "+d001"})
		e.set(c.Doc("late"), fields{"n": 50})
		e.update(c.Doc("d003"), "x", 1)
		e.update(c.Doc("d000"), "x", 1)
		w.want([]string{"~d000"})
	}},
	{"moved within and out", func(e *env) {
		c := e.numbered(4)
		w := e.watch(c.OrderBy("n", firestore.Asc).Limit(3))
		w.want([]string{"+d000", "+d001", "+d002"})
		e.set(c.Doc("d000"), fields{"n": 1.5})
		w.want([]string{"~d000"}, "d001", "d000", "d002")
		e.set(c.Doc("d000"), fields{"n": 9})
		w.want([]string{"-d000", "+d003"}, "d001", "d002", "d003")
	}},
	{"short of its limit", func(e *env) {
		c := e.numbered(1)
		w := e.watch(c.OrderBy("n", firestore.Asc).Limit(2))
		w.want([]string{"+d000"})
		e.set(c.Doc("x"), fields{"n": 1})
		w.want([]string{"+x"})
		_, err := c.Doc("d000").Delete(e.ctx)
		e.ok(err)
		w.want([]string{"-d000"}, "x")
	}},
	{"from a cursor", func(e *env) {
		c := e.numbered(6)
		w := e.watch(c.OrderBy("n", firestore.Asc).StartAfter(1).Limit(2))
		w.want([]string{"+d002", "+d003"})
		e.set(c.Doc("before"), fields{"n": 0.5})
		e.set(c.Doc("within"), fields{"n": 1.5})
		w.want([]string{"-d003", "+within"}, "within", "d002")
	}},
	{"drained by marks", func(e *env) {
		c := e.collection()
		docs := map[string]fields{}
		for i := range 60 {
			docs[fmt.Sprintf("d%03d", i)] = fields{"status": "pending", "n": i}
		}
		e.fill(c, docs)
		e.index(c, "status", "n")
		w := e.watch(c.Where("status", "==", "pending").OrderBy("n", firestore.Asc).Limit(20))
		seen := map[string]bool{}
		for len(seen) < 60 {
			_, snap := w.next()
			b, n := e.batch(), 0
			for _, ch := range snap.Changes {
				if ch.Kind == firestore.DocumentAdded && !seen[ch.Doc.Ref.ID] {
					seen[ch.Doc.Ref.ID] = true
					b.Update(ch.Doc.Ref, []firestore.Update{{Path: "status", Value: "done"}})
					n++
				}
			}
			if n > 0 {
				_, err := b.Commit(e.ctx)
				e.ok(err)
			}
		}
		w.until()
	}},
}
