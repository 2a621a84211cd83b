// Package conformance says what a Firestore server does, as tests over the real Go
// client. The embedded server and Google's emulator both pass it.
//
// Left out, because the two differ and production is known, or documented, to side
// with neither or not to promise either: how long a transaction that meets
// contention waits before it fails, and the wording of error messages.
package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/firestore/indexes"
)

// patience bounds every wait. A conforming server needs a small part of it; an
// emulator on a busy machine stalls for seconds.
const patience = 2 * time.Minute

// Run holds a server to the suite. Every test works in collections of its own, so
// that the server may be shared. newClient is called once. declare makes indexes
// on a server that asks for them; nil on one that does not.
func Run(t *testing.T, newClient func(t *testing.T) *firestore.Client, declare func(indexes.File)) {
	s := &suite{client: newClient(t), declare: declare}
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"documents", documents},
		{"names", names},
		{"preconditions", preconditions},
		{"transforms", transforms},
		{"batches", batches},
		{"transactions", transactions},
		{"filters", filters},
		{"refusals", refusals},
		{"order", orders},
		{"cursors", cursors},
		{"queries", queries},
		{"aggregations", aggregations},
		{"listeners", listeners},
		{"windows", windows},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, tt := range group.tests {
				t.Run(tt.name, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					tt.run(&env{T: t, ctx: ctx, client: s.client, suite: s, began: time.Now()})
				})
			}
		})
	}
}

type suite struct {
	client  *firestore.Client
	declare func(indexes.File)

	values     sync.Once // the filters and orders tests share a collection
	valuesColl *firestore.CollectionRef
}

type test struct {
	name string
	run  func(e *env)
}

// env is what a test works with.
type env struct {
	*testing.T
	ctx    context.Context
	client *firestore.Client
	suite  *suite
	began  time.Time
}

type fields = map[string]any

// collection returns a collection that nobody else uses.
func (e *env) collection() *firestore.CollectionRef {
	return e.client.Collection("c" + rand.Text())
}

// index declares a composite index of a collection; see indexes.On.
func (e *env) index(c *firestore.CollectionRef, fields ...string) {
	e.declare(indexes.File{Indexes: []indexes.Composite{indexes.On(c.ID, fields...)}})
}

// indexGroup declares what queries of all collections of an ID need for a field.
func (e *env) indexGroup(group, field string) {
	o := indexes.Override{CollectionGroup: group, FieldPath: field}
	for _, order := range []string{indexes.Ascending, indexes.Descending} {
		o.Indexes = append(o.Indexes, indexes.Single{QueryScope: indexes.ScopeGroup, Order: order})
	}
	e.declare(indexes.File{FieldOverrides: []indexes.Override{o}})
}

func (e *env) declare(f indexes.File) {
	if e.suite.declare != nil {
		e.suite.declare(f)
	}
}

func (e *env) doc() *firestore.DocumentRef { return e.collection().Doc("d") }

func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("want no error, got %v", err)
	}
}

func (e *env) code(err error, want codes.Code) {
	e.Helper()
	if got := status.Code(err); got != want {
		e.Fatalf("want code %v, got %v: %v", want, got, err)
	}
}

func (e *env) equal(want, got any) {
	e.Helper()
	if d := cmp.Diff(want, got); d != "" {
		e.Fatalf("-want +got:\n%s", d)
	}
}

func (e *env) set(d *firestore.DocumentRef, data any) time.Time {
	e.Helper()
	r, err := d.Set(e.ctx, data)
	e.ok(err)
	return r.UpdateTime
}

func (e *env) get(d *firestore.DocumentRef) *firestore.DocumentSnapshot {
	e.Helper()
	s, err := d.Get(e.ctx)
	e.ok(err)
	return s
}

func (e *env) wantData(d *firestore.DocumentRef, want fields) {
	e.Helper()
	e.equal(want, e.get(d).Data())
}

// batch is an atomic commit of several writes.
//
//nolint:staticcheck // deprecated, and the only commit of several writes that begins no transaction
func (e *env) batch() *firestore.WriteBatch {
	return e.client.Batch()
}

// fill writes documents in one commit, with the keys of docs as IDs.
func (e *env) fill(c *firestore.CollectionRef, docs map[string]fields) {
	e.Helper()
	b := e.batch()
	for id, data := range docs {
		b.Set(c.Doc(id), data)
	}
	_, err := b.Commit(e.ctx)
	e.ok(err)
}

// numbered writes n documents d000, d001 … with their number as field n.
func (e *env) numbered(n int) *firestore.CollectionRef {
	e.Helper()
	docs := map[string]fields{}
	for i := range n {
		docs[fmt.Sprintf("d%03d", i)] = fields{"n": i}
	}
	c := e.collection()
	e.fill(c, docs)
	return c
}

// ids runs a query and returns the IDs of its result, in order.
func (e *env) ids(q firestore.Query) []string {
	e.Helper()
	snaps, err := q.Documents(e.ctx).GetAll()
	e.ok(err)
	return idsOf(snaps)
}

func idsOf(snaps []*firestore.DocumentSnapshot) []string {
	out := []string{}
	for _, s := range snaps {
		out = append(out, s.Ref.ID)
	}
	return out
}

func (e *env) wantIDs(q firestore.Query, want ...string) {
	e.Helper()
	if want == nil {
		want = []string{}
	}
	e.equal(want, e.ids(q))
}

// refused runs a query that Firestore does not.
func (e *env) refused(q firestore.Query) {
	e.Helper()
	_, err := q.Documents(e.ctx).GetAll()
	e.code(err, codes.InvalidArgument)
}

// watch listens to a query until the test ends.
func (e *env) watch(q firestore.Query) *watcher {
	ctx, cancel := context.WithCancel(e.ctx)
	it := q.Snapshots(ctx)
	e.Cleanup(func() {
		cancel()
		it.Stop()
	})
	return &watcher{e, it}
}

type watcher struct {
	*env
	it *firestore.QuerySnapshotIterator
}

// next awaits a snapshot and describes its changes, in order: "+id", "~id", "-id".
func (w *watcher) next() (changes []string, snap *firestore.QuerySnapshot) {
	w.Helper()
	snap, err := w.it.Next()
	w.ok(err)
	changes = []string{}
	for _, c := range snap.Changes {
		sign := map[firestore.DocumentChangeKind]string{
			firestore.DocumentAdded: "+", firestore.DocumentModified: "~", firestore.DocumentRemoved: "-",
		}[c.Kind]
		changes = append(changes, sign+c.Doc.Ref.ID)
	}
	return changes, snap
}

// want awaits a snapshot and compares its changes, and the result when given.
func (w *watcher) want(changes []string, result ...string) *firestore.QuerySnapshot {
	w.Helper()
	got, snap := w.next()
	w.equal(changes, got)
	if result != nil {
		snaps, err := snap.Documents.GetAll()
		w.ok(err)
		w.equal(result, idsOf(snaps))
	}
	return snap
}

// until awaits the snapshot whose result has these IDs.
func (w *watcher) until(result ...string) {
	w.Helper()
	for {
		_, snap := w.next()
		snaps, err := snap.Documents.GetAll()
		w.ok(err)
		if slices.Equal(idsOf(snaps), result) {
			return
		}
	}
}
