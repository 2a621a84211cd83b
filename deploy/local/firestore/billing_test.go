package firestore_test

import (
	"context"
	"fmt"
	"testing"

	gcp "cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/deploy/local/firestore"
)

func TestBilling(t *testing.T) {
	s, addr := start(t, firestore.Options{})
	c := dial(t, addr)
	coll := c.Collection("outbox")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// billed runs a step and compares what it used.
	billed := func(name string, want firestore.Operations, step func()) {
		t.Helper()
		s.ResetBilling()
		step()
		got := s.Billing()
		if d := cmp.Diff(want, got.Operations); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
		if d := cmp.Diff(want, got.Collections["outbox"]); d != "" {
			t.Errorf("%s, by collection: -want +got:\n%s", name, d)
		}
	}
	set := func(id string, n int) {
		t.Helper()
		_, err := coll.Doc(id).Set(ctx, map[string]any{"n": n})
		ok(err)
	}

	billed("five writes", firestore.Operations{Writes: 5}, func() {
		for i := range 5 {
			set(fmt.Sprint("d", i), i)
		}
	})
	billed("a write that fails", firestore.Operations{}, func() {
		if _, err := coll.Doc("none").Update(ctx, []gcp.Update{{Path: "x", Value: 1}}); err == nil {
			t.Error("want an error")
		}
	})
	billed("a query", firestore.Operations{Reads: 3}, func() {
		_, err := coll.OrderBy("n", gcp.Asc).Limit(3).Documents(ctx).GetAll()
		ok(err)
	})
	billed("an empty query", firestore.Operations{Reads: 1}, func() {
		_, err := coll.Where("n", "==", 99).Documents(ctx).GetAll()
		ok(err)
	})
	billed("two gets, one of them missing", firestore.Operations{Reads: 2}, func() {
		_, err := c.GetAll(ctx, []*gcp.DocumentRef{coll.Doc("d0"), coll.Doc("none")})
		ok(err)
	})
	billed("a count", firestore.Operations{Reads: 1}, func() {
		q := coll.Query
		_, err := q.NewAggregationQuery().WithCount("n").Get(ctx)
		ok(err)
	})

	it := coll.Where("n", "<", 10).OrderBy("n", gcp.Asc).Limit(3).Snapshots(ctx)
	next := func() {
		t.Helper()
		_, err := it.Next()
		ok(err)
	}
	billed("a listener's first result", firestore.Operations{Reads: 3}, next)
	billed("modified in the window", firestore.Operations{Writes: 1, Reads: 1}, func() {
		set("d0", -1)
		next()
	})
	billed("left because it changed, and the window filled", firestore.Operations{Writes: 1, Reads: 2}, func() {
		set("d0", 50)
		next()
	})
	billed("deleted, and the window filled", firestore.Operations{Deletes: 1, Reads: 1}, func() {
		_, err := coll.Doc("d1").Delete(ctx)
		ok(err)
		next()
	})
	billed("pushed out by another", firestore.Operations{Writes: 1, Reads: 1}, func() {
		set("early", -5)
		next()
	})
	billed("beyond the window", firestore.Operations{Writes: 1}, func() { set("late", 9) })
}

func TestBillingOfALargeCount(t *testing.T) {
	s, addr := start(t, firestore.Options{})
	c := dial(t, addr)
	b := batch(c)
	for i := range 2001 {
		b.Set(c.Collection("outbox").Doc(fmt.Sprint(i)), map[string]any{})
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ResetBilling()
	q := c.Collection("outbox").Query
	if _, err := q.NewAggregationQuery().WithCount("n").Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Billing().Reads; got != 3 {
		t.Errorf("want 3 reads for 2001 documents, got %d", got)
	}
}
