package conformance

import (
	"errors"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var preconditions = []test{
	{"create of what is there", func(e *env) {
		d := e.doc()
		_, err := d.Create(e.ctx, fields{"a": 1})
		e.ok(err)
		_, err = d.Create(e.ctx, fields{"a": 2})
		e.code(err, codes.AlreadyExists)
		e.wantData(d, fields{"a": int64(1)})
	}},
	{"update of what is not there", func(e *env) {
		_, err := e.doc().Update(e.ctx, []firestore.Update{{Path: "a", Value: 1}})
		e.code(err, codes.NotFound)
	}},
	{"delete of what is not there, if it must", func(e *env) {
		_, err := e.doc().Delete(e.ctx, firestore.Exists)
		e.code(err, codes.NotFound)
	}},
	{"update at an update time", func(e *env) {
		d := e.doc()
		first := e.set(d, fields{"a": 1})
		_, err := d.Update(e.ctx, []firestore.Update{{Path: "a", Value: 2}}, firestore.LastUpdateTime(first))
		e.ok(err)
		_, err = d.Update(e.ctx, []firestore.Update{{Path: "a", Value: 3}}, firestore.LastUpdateTime(first))
		e.code(err, codes.FailedPrecondition)
		e.wantData(d, fields{"a": int64(2)})
	}},
	{"delete at an update time", func(e *env) {
		d := e.doc()
		first := e.set(d, fields{"a": 1})
		second := e.set(d, fields{"a": 2})
		_, err := d.Delete(e.ctx, firestore.LastUpdateTime(first))
		e.code(err, codes.FailedPrecondition)
		_, err = d.Delete(e.ctx, firestore.LastUpdateTime(second))
		e.ok(err)
	}},
	{"update at an update time of what is gone", func(e *env) {
		d := e.doc()
		first := e.set(d, fields{"a": 1})
		_, err := d.Delete(e.ctx)
		e.ok(err)
		_, err = d.Update(e.ctx, []firestore.Update{{Path: "a", Value: 2}}, firestore.LastUpdateTime(first))
		e.code(err, codes.FailedPrecondition)
	}},
	{"one of twenty contenders wins", func(e *env) {
		d := e.doc()
		at := e.set(d, fields{"owner": ""})
		var wg sync.WaitGroup
		results := make(chan error, 20)
		for i := range 20 {
			wg.Go(func() {
				_, err := d.Update(e.ctx, []firestore.Update{{Path: "owner", Value: i}}, firestore.LastUpdateTime(at))
				results <- err
			})
		}
		wg.Wait()
		close(results)
		got := map[codes.Code]int{}
		for err := range results {
			got[status.Code(err)]++
		}
		e.equal(map[codes.Code]int{codes.OK: 1, codes.FailedPrecondition: 19}, got)
	}},
	{"a fence that is written as it stands can be used again", func(e *env) {
		c := e.collection()
		fence, rec := c.Doc("fence"), c.Doc("record")
		at := e.set(fence, fields{"owner": "me"})
		e.set(rec, fields{"n": 0})
		mark := func(n int) error {
			_, err := e.batch().
				Update(fence, []firestore.Update{{Path: "owner", Value: "me"}}, firestore.LastUpdateTime(at)).
				Update(rec, []firestore.Update{{Path: "n", Value: n}}).
				Commit(e.ctx)
			return err
		}
		e.ok(mark(1))
		e.ok(mark(2))
		e.set(fence, fields{"owner": "other"})
		e.code(mark(3), codes.FailedPrecondition)
		e.wantData(rec, fields{"n": int64(2)})
	}},
}

var transforms = []test{
	{"server timestamp is the commit's time, cut to the millisecond", func(e *env) {
		d := e.doc()
		at := e.set(d, fields{"at": firestore.ServerTimestamp, "m": fields{"at": firestore.ServerTimestamp}})
		data := e.get(d).Data()
		e.nearly(at, data["at"])
		e.equal(data["at"], data["m"].(fields)["at"])
	}},
	{"a commit has one time", func(e *env) {
		c := e.collection()
		b := e.batch()
		for _, id := range []string{"a", "b", "c"} {
			b.Set(c.Doc(id), fields{"at": firestore.ServerTimestamp})
		}
		results, err := b.Commit(e.ctx)
		e.ok(err)
		snaps, err := c.Documents(e.ctx).GetAll()
		e.ok(err)
		for i, s := range snaps {
			e.equal(results[0].UpdateTime, results[i].UpdateTime)
			e.equal(results[0].UpdateTime, s.UpdateTime)
			e.equal(snaps[0].Data()["at"], s.Data()["at"])
			e.nearly(s.UpdateTime, s.Data()["at"])
		}
	}},
	{"commits' times grow", func(e *env) {
		c := e.collection()
		var last time.Time
		for range 20 {
			at := e.set(c.NewDoc(), fields{})
			if !at.After(last) {
				e.Fatalf("%v is not after %v", at, last)
			}
			last = at
		}
	}},
	{"increment", func(e *env) {
		d := e.doc()
		e.set(d, fields{"i": 1, "d": 1.5, "s": "text", "big": int64(1<<63 - 2)})
		_, err := d.Update(e.ctx, []firestore.Update{
			{Path: "i", Value: firestore.Increment(2)},
			{Path: "d", Value: firestore.Increment(1)},
			{Path: "s", Value: firestore.Increment(5)},
			{Path: "none", Value: firestore.Increment(-1.5)},
			{Path: "big", Value: firestore.Increment(10)},
		})
		e.ok(err)
		e.wantData(d, fields{"i": int64(3), "d": 2.5, "s": int64(5), "none": -1.5, "big": int64(1<<63 - 1)})
	}},
	{"maximum and minimum", func(e *env) {
		d := e.doc()
		e.set(d, fields{"a": 5, "b": 5, "c": 5, "s": "text", "e": 5})
		_, err := d.Update(e.ctx, []firestore.Update{
			{Path: "a", Value: firestore.FieldTransformMaximum(7)},
			{Path: "b", Value: firestore.FieldTransformMinimum(3.5)},
			{Path: "c", Value: firestore.FieldTransformMaximum(3)},
			{Path: "s", Value: firestore.FieldTransformMinimum(1)},
			{Path: "e", Value: firestore.FieldTransformMaximum(5.0)},
			{Path: "none", Value: firestore.FieldTransformMaximum(-1)},
		})
		e.ok(err)
		e.wantData(d, fields{"a": int64(7), "b": 3.5, "c": int64(5), "s": int64(1), "e": int64(5), "none": int64(-1)})
	}},
	{"array union and removal", func(e *env) {
		d := e.doc()
		e.set(d, fields{"u": []any{1, "a"}, "r": []any{1, 2, 1, "a"}, "s": "text"})
		_, err := d.Update(e.ctx, []firestore.Update{
			{Path: "u", Value: firestore.ArrayUnion("a", "b", 1.0, "b")},
			{Path: "r", Value: firestore.ArrayRemove(1.0, "zz")},
			{Path: "s", Value: firestore.ArrayUnion("x")},
			{Path: "none", Value: firestore.ArrayRemove("x")},
		})
		e.ok(err)
		e.wantData(d, fields{
			"u": []any{int64(1), "a", "b"}, "r": []any{int64(2), "a"}, "s": []any{"x"}, "none": []any{},
		})
	}},
	{"a union that adds nothing changes nothing", func(e *env) {
		d := e.doc()
		at := e.set(d, fields{"u": []any{"a"}})
		r, err := d.Update(e.ctx, []firestore.Update{{Path: "u", Value: firestore.ArrayUnion("a")}})
		e.ok(err)
		e.equal(at, r.UpdateTime)
	}},
	{"transform beside an update", func(e *env) {
		d := e.doc()
		e.set(d, fields{"status": "pending", "attempts": 1})
		at, err := d.Update(e.ctx, []firestore.Update{
			{Path: "status", Value: "delivered"},
			{Path: "attempts", Value: firestore.Increment(1)},
			{Path: "deliveredAt", Value: firestore.ServerTimestamp},
		})
		e.ok(err)
		data := e.get(d).Data()
		e.nearly(at.UpdateTime, data["deliveredAt"])
		delete(data, "deliveredAt")
		e.equal(fields{"status": "delivered", "attempts": int64(2)}, data)
	}},
	{"a transform starts afresh in a set", func(e *env) {
		d := e.doc()
		e.set(d, fields{"n": 5})
		e.set(d, fields{"n": firestore.Increment(1), "x": 1})
		e.wantData(d, fields{"n": int64(1), "x": int64(1)})
	}},
}

var batches = []test{
	{"all or nothing", func(e *env) {
		c := e.collection()
		_, err := e.batch().
			Set(c.Doc("a"), fields{}).
			Update(c.Doc("none"), []firestore.Update{{Path: "x", Value: 1}}).
			Commit(e.ctx)
		e.code(err, codes.NotFound)
		e.wantIDs(c.Query)
	}},
	{"writes see those before them", func(e *env) {
		d := e.doc()
		results, err := e.batch().
			Create(d, fields{"n": 1}).
			Update(d, []firestore.Update{{Path: "n", Value: firestore.Increment(1)}}).
			Commit(e.ctx)
		e.ok(err)
		e.equal(results[0].UpdateTime, results[1].UpdateTime)
		e.wantData(d, fields{"n": int64(2)})
	}},
	{"made and deleted in one", func(e *env) {
		d := e.doc()
		_, err := e.batch().Create(d, fields{"n": 1}).Delete(d).Commit(e.ctx)
		e.ok(err)
		_, err = d.Get(e.ctx)
		e.code(err, codes.NotFound)
	}},
	{"six hundred writes", func(e *env) {
		c := e.collection()
		b := e.batch()
		for range 600 {
			b.Create(c.NewDoc(), fields{"n": 1})
		}
		_, err := b.Commit(e.ctx)
		e.ok(err)
		e.equal(600, len(e.ids(c.Query)))
	}},
	{"bulk writer tells writes apart", func(e *env) {
		c := e.collection()
		e.set(c.Doc("there"), fields{})
		w := e.client.BulkWriter(e.ctx)
		good, err := w.Create(c.Doc("new"), fields{"a": 1})
		e.ok(err)
		bad, err := w.Create(c.Doc("there"), fields{})
		e.ok(err)
		gone, err := w.Update(c.Doc("gone"), []firestore.Update{{Path: "a", Value: 1}})
		e.ok(err)
		w.End()
		_, err = good.Results()
		e.ok(err)
		if _, err = bad.Results(); err == nil {
			e.Fatal("want an error for what is there")
		}
		if _, err = gone.Results(); err == nil {
			e.Fatal("want an error for what is not")
		}
		e.wantIDs(c.Query, "new", "there")
	}},
}

var errRollback = errors.New("never mind")

// nearly holds a server timestamp to the time of its commit: it is whole
// milliseconds, not later, and on Google's emulator, which takes it as the request
// comes in, a little earlier, but not from before the test.
func (e *env) nearly(commit time.Time, got any) {
	e.Helper()
	at, ok := got.(time.Time)
	if !ok || !at.Equal(at.Truncate(time.Millisecond)) || at.After(commit) || at.Before(e.began.Truncate(time.Millisecond)) {
		e.Fatalf("want a server timestamp of a commit at %v, got %v", commit, got)
	}
}
