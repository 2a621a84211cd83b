package firestore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/grpc/codes"

	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
)

func (f *fixture) read(collection string, ids ...string) []map[string]any {
	f.t.Helper()
	docs, err := f.store.Get(f.t.Context(), collection, ids...)
	if err != nil {
		f.t.Fatal(err)
	}
	var out []map[string]any
	for _, d := range docs {
		out = append(out, d.Fields)
	}
	return out
}

func testStoreReadsWhatItWrote(t *testing.T, f *fixture) {
	at, err := f.store.Commit(t.Context(), []dlq.Write{
		{Collection: "c", ID: "a", Op: dlq.OpCreate, Fields: map[string]any{
			"n": 1, "at": dlq.ServerTime{}, "map": map[string]any{"at": dlq.ServerTime{}, "s": "x"}, "null": nil,
			"place": &latlng.LatLng{Latitude: 1, Longitude: 2}, "ref": f.db.Doc("c/other"), "vector": firestore.Vector64{1, 2},
		}},
		{Collection: "c/a/below", ID: "b", Op: dlq.OpSet, Fields: map[string]any{"n": 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	docs, err := f.store.Get(t.Context(), "c", "gone", "a")
	if err != nil {
		t.Fatal(err)
	}
	if docs[0].ID != "gone" || docs[0].Exists() || docs[0].ReadTime.IsZero() {
		t.Errorf("got %+v, want a document that does not exist", docs[0])
	}
	d := docs[1]
	if !d.UpdateTime.Equal(at) || !d.CreateTime.Equal(at) {
		t.Errorf("update time %v, create time %v, want the commit's %v", d.UpdateTime, d.CreateTime, at)
	}
	server := d.Fields["at"]
	if s, ok := server.(time.Time); !ok || at.Sub(s).Abs() > time.Minute {
		t.Errorf("server time %v, want about %v", server, at)
	}
	want := map[string]any{
		"n": int64(1), "at": server, "map": map[string]any{"at": server, "s": "x"}, "null": nil,
		"place": map[string]any{"latitude": 1.0, "longitude": 2.0}, "ref": f.db.Doc("c/other").Path, "vector": []any{1.0, 2.0},
	}
	if diff := cmp.Diff(want, d.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]map[string]any{{"n": int64(2)}}, f.read("c/a/below", "b")); diff != "" {
		t.Errorf("document below (-want +got):\n%s", diff)
	}
	if docs, err := f.store.Get(t.Context(), "c"); len(docs) != 0 || err != nil {
		t.Errorf("no IDs: got %v, %v", docs, err)
	}
}

func testStoreAppliesAllOrNothing(t *testing.T, f *fixture) {
	f.commit(dlq.Write{Collection: "c", ID: "a", Op: dlq.OpCreate, Fields: map[string]any{"n": 1}})
	old, err := f.store.Get(t.Context(), "c", "a")
	if err != nil {
		t.Fatal(err)
	}
	f.commit(dlq.Write{Collection: "c", ID: "a", Fields: map[string]any{"n": 2}})
	other := dlq.Write{Collection: "c", ID: "b", Op: dlq.OpSet, Fields: map[string]any{"n": 1}}
	for _, tc := range []struct {
		name  string
		write dlq.Write
		want  codes.Code
	}{
		{"an update of what has changed", dlq.Write{ID: "a", Fields: map[string]any{"n": 3}, IfUnchangedSince: old[0].UpdateTime}, codes.FailedPrecondition},
		{"a set of what has changed", dlq.Write{ID: "a", Op: dlq.OpSet, Fields: map[string]any{"n": 3}, IfUnchangedSince: old[0].UpdateTime}, codes.FailedPrecondition},
		{"a set of what is gone", dlq.Write{ID: "gone", Op: dlq.OpSet, Fields: map[string]any{"n": 3}, IfUnchangedSince: old[0].UpdateTime}, codes.FailedPrecondition},
		{"a deletion of what has changed", dlq.Write{ID: "a", Op: dlq.OpDelete, IfUnchangedSince: old[0].UpdateTime}, codes.FailedPrecondition},
		{"an update of what is gone", dlq.Write{ID: "gone", Fields: map[string]any{"n": 3}}, codes.NotFound},
		{"a creation of what is there", dlq.Write{ID: "a", Op: dlq.OpCreate, Fields: map[string]any{"n": 3}}, codes.AlreadyExists},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.write.Collection = "c"
			_, err := f.store.Commit(t.Context(), []dlq.Write{other, tc.write})
			refused, ok := errors.AsType[dlq.CommitError](err)
			if !ok || !refused.Refused() || refused.Code() != tc.want.String() {
				t.Errorf("got %v, want it refused with %s", err, tc.want)
			}
		})
	}
	if diff := cmp.Diff([]map[string]any{{"n": int64(2)}, nil}, f.read("c", "a", "b")); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	f.commit(dlq.Write{Collection: "c", ID: "gone", Op: dlq.OpDelete})
}

func testStoreMerges(t *testing.T, f *fixture) {
	w := dlq.Write{
		Collection: "c", ID: "a", Op: dlq.OpMerge,
		Fields: map[string]any{"x": 1, "gone": nil, "dotted.name": true}, Union: map[string][]string{"list": {"one", "two"}},
	}
	f.commit(w) // creates
	f.commit(dlq.Write{
		Collection: "c", ID: "a", Fields: map[string]any{"gone": "there", "y": 2}, Union: map[string][]string{"list": {"two", "three"}},
	})
	f.commit(w)
	want := []map[string]any{{"x": int64(1), "y": int64(2), "dotted.name": true, "list": []any{"one", "two", "three"}}}
	if diff := cmp.Diff(want, f.read("c", "a")); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// A write that says what stands there leaves the document the time of the change before.
func testStoreTellsWhatACommitChanged(t *testing.T, f *fixture) {
	say := func(id string, n int) dlq.Write {
		return dlq.Write{Collection: "c", ID: id, Op: dlq.OpMerge, Fields: map[string]any{"n": n}}
	}
	before, err := f.db.CommitEach(t.Context(), []dlq.Write{say("a", 1), say("b", 1), say("gone", 1)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.db.CommitEach(t.Context(), []dlq.Write{
		say("a", 1),
		{Collection: "c", ID: "silent", Op: dlq.OpMerge, Fields: map[string]any{"m": map[string]any{}}},
		say("b", 2),
		{Collection: "c", ID: "gone", Op: dlq.OpDelete},
	})
	if err != nil {
		t.Fatal(err)
	}
	docs, err := f.store.Get(t.Context(), "c", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || !got[0].Equal(before[0]) || !got[0].Equal(docs[0].UpdateTime) {
		t.Errorf("times %v, want that of what stayed, %v, first", got, before[0])
	}
	if !got[2].After(before[1]) || !got[2].Equal(docs[1].UpdateTime) {
		t.Errorf("what was changed at %v is said to be changed at %v", docs[1].UpdateTime, got[2])
	}
	if !got[1].IsZero() || !got[3].IsZero() {
		t.Errorf("what was not sent, or deleted, has times: %v", got)
	}
	if at := dlq.Latest(got); !at.Equal(got[2]) {
		t.Errorf("the commit was at %v, want %v", at, got[2])
	}
}

func testStoreWatches(t *testing.T, f *fixture) {
	f.commit(dlq.Write{Collection: "c", ID: "a", Op: dlq.OpCreate, Fields: map[string]any{"n": 1}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan []string)
	ended := make(chan error, 1)
	go func() {
		ended <- f.store.Watch(ctx, dlq.Query{Collection: "c", OrderBy: []dlq.Order{{Field: "n", Desc: true}}, Select: []string{"m"}}, func(docs []dlq.Doc) {
			ids := make([]string, len(docs))
			for n, d := range docs {
				ids[n] = d.ID
			}
			select {
			case seen <- ids:
			case <-ctx.Done():
			}
		})
	}()
	next := func(want ...string) {
		t.Helper()
		select {
		case got := <-seen:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("watched (-want +got):\n%s", diff)
			}
		case err := <-ended:
			t.Fatalf("the watch ended: %v", err)
		}
	}
	next("a")
	f.commit(dlq.Write{Collection: "c", ID: "b", Op: dlq.OpCreate, Fields: map[string]any{"n": 2}})
	next("b", "a")
	f.commit(dlq.Write{Collection: "c", ID: "a", Op: dlq.OpDelete})
	next("b")
	cancel()
	if err := <-ended; err == nil {
		t.Error("a watch that was cancelled ended without an error")
	}
}

func TestStoreSaysWhatFailed(t *testing.T) {
	f := setup(t, newCloud(t))
	f.cloud.embedded.Faults().Add(localfirestore.Fault{Code: codes.PermissionDenied})
	_, commitErr := f.store.Commit(t.Context(), []dlq.Write{{Collection: "c", ID: "a", Op: dlq.OpDelete}})
	_, getErr := f.store.Get(t.Context(), "c", "a")
	_, queryErr := f.store.Query(t.Context(), dlq.Query{Collection: "c"})
	_, countErr := f.store.Count(t.Context(), dlq.Query{Collection: "c"})
	watchErr := f.store.Watch(t.Context(), dlq.Query{Collection: "c"}, func([]dlq.Doc) {})
	for what, err := range map[string]error{"commit": commitErr, "read documents of c": getErr, "query c": queryErr, "count c": countErr} {
		failed, ok := errors.AsType[dlq.CommitError](err)
		if !ok || failed.Refused() || failed.Code() != "PermissionDenied" {
			t.Errorf("%s: got %v, want it to say PermissionDenied", what, err)
		}
	}
	if watchErr == nil {
		t.Error("a watch that could not be opened ended without an error")
	}
}

func TestStoreCounts(t *testing.T) {
	f := setup(t, newCloud(t))
	for _, id := range []string{"a", "b", "c"} {
		f.commit(dlq.Write{Collection: "c", ID: id, Op: dlq.OpCreate, Fields: map[string]any{"n": 1}})
	}
	for _, tc := range []struct {
		limit int
		want  int64
	}{{0, 3}, {2, 2}} {
		q := dlq.Query{Collection: "c", Where: []dlq.Where{{Field: "n", Op: "==", Value: 1}}, Limit: tc.limit}
		if got, err := f.store.Count(t.Context(), q); got != tc.want || err != nil {
			t.Errorf("limit %d: got %d, %v, want %d", tc.limit, got, err, tc.want)
		}
	}
}

// What did not change comes again as it was decoded, with the time of the new result; what
// was deleted and made again does not.
func testStoreWatchesManyDocuments(t *testing.T, f *fixture) {
	write := func(id string, n int) dlq.Write {
		return dlq.Write{Collection: "c", ID: id, Op: dlq.OpSet, Fields: map[string]any{"n": n, "of": map[string]any{"id": id}}}
	}
	f.commit(write("a", 1), write("b", 1), write("c", 1))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan []dlq.Doc)
	go f.store.Watch(ctx, dlq.Query{Collection: "c"}, func(docs []dlq.Doc) {
		select {
		case seen <- docs:
		case <-ctx.Done():
		}
	})
	before := <-seen
	for _, step := range []struct {
		writes []dlq.Write
		want   map[string]int64
	}{
		{[]dlq.Write{write("b", 2)}, map[string]int64{"a": 1, "b": 2, "c": 1}},
		{[]dlq.Write{{Collection: "c", ID: "a", Op: dlq.OpDelete}}, map[string]int64{"b": 2, "c": 1}},
		{[]dlq.Write{write("a", 3)}, map[string]int64{"a": 3, "b": 2, "c": 1}},
	} {
		f.commit(step.writes...)
		now := <-seen
		got := make(map[string]int64)
		for _, d := range now {
			got[d.ID] = d.Fields["n"].(int64)
			if d.Fields["of"].(map[string]any)["id"] != d.ID || !d.ReadTime.After(before[0].ReadTime) || d.UpdateTime.IsZero() {
				t.Errorf("%s is %+v", d.ID, d)
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("watched (-want +got):\n%s", diff)
		}
		before = now
	}
}
