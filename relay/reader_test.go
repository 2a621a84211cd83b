package relay

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// onePage is a Store that has one page of a lane.
type onePage struct {
	Store
	page []Doc
}

func (s *onePage) Page(context.Context, Scan) ([]Doc, error) { return s.page, nil }

// testReader is a reader whose pages hold as many documents as it is given.
func testReader(t *testing.T, page ...Doc) *reader {
	t.Helper()
	r, _ := newTestRelay(t)
	o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
	o.begun.looked.Store(true) // it is not at its beginning
	o.store, o.tuning.PageSize = &onePage{page: page}, len(page)
	in := o.intakes[0]
	return &reader{outbox: o, intake: in, scan: o.laneScan(in), window: 10, log: o.log, begun: func() {}}
}

// docOf is a record's document, of that age when it was read.
func docOf(version int64, age time.Duration) Doc {
	return Doc{
		ID: fmt.Sprint("v", version), CreatedAt: at(60_000).Add(-age), ReadTime: at(60_000),
		Content: told(func() map[string]any { return map[string]any{contracts.FieldAggregateVersion: version} }),
	}
}

// told is a content that is decoded so, and is not plain.
type told func() map[string]any

func (t told) Fields() map[string]any  { return t() }
func (t told) Raw() map[string]any     { return t() }
func (told) Parts() map[string]any     { return map[string]any{} }
func (told) Record() *contracts.Record { return nil }

func versionsOf(entries []*entry) (versions []int64) {
	for _, e := range entries {
		versions = append(versions, e.rec.AggregateVersion)
	}
	return versions
}

// What may still appear before a fresh record must not be passed: pages end in
// front of it, also where it fills the last of them.
func TestPagesEndBeforeWhatIsFresh(t *testing.T) {
	r := testReader(t, docOf(1, 10*time.Second), docOf(2, 9*time.Second), docOf(3, feed.Freshness/2))
	b, carry, next, err := r.readPage(t.Context(), Position{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 2}, versionsOf(b.entries)); diff != "" || len(carry) > 0 {
		t.Errorf("carries %v; -want +got:\n%s", carry, diff)
	}
	if !next.Zero() {
		t.Errorf("pages go on after %v, want the listener to", next)
	}
}

// The records of one commit come in any order of their versions: those that the
// edge of a page cuts off are waited for.
func TestAPagesEdgeCutsNoCommit(t *testing.T) {
	r := testReader(t, docOf(1, 10*time.Second), docOf(3, 9*time.Second), docOf(4, 9*time.Second))
	b, carry, next, err := r.readPage(t.Context(), Position{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1}, versionsOf(b.entries)); diff != "" || next != docOf(4, 9*time.Second).position() {
		t.Errorf("pages go on after %v; -want +got:\n%s", next, diff)
	}
	r.outbox.store = &onePage{page: []Doc{docOf(2, 9*time.Second)}}
	if b, _, _, err = r.readPage(t.Context(), next, carry); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{2, 3, 4}, versionsOf(b.entries)); diff != "" {
		t.Errorf("the rest of the commit (-want +got):\n%s", diff)
	}
}

// A commit may fill several pages: none of it is taken before all of it is there.
func TestACommitOfSeveralPagesIsTakenWhole(t *testing.T) {
	r := testReader(t, docOf(1, 10*time.Second), docOf(4, 9*time.Second))
	var after Position
	var carry []Doc
	for i, want := range [][]int64{{1}, nil, {2, 3, 4, 5, 6}} {
		pages := [][]Doc{
			{docOf(1, 10*time.Second), docOf(4, 9*time.Second)},
			{docOf(5, 9*time.Second), docOf(6, 9*time.Second)},
			{docOf(2, 9*time.Second), docOf(3, 9*time.Second), docOf(7, feed.Freshness/2)},
		}
		r.outbox.store = &onePage{page: pages[i]}
		b, rest, next, err := r.readPage(t.Context(), after, carry)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, versionsOf(b.entries)); diff != "" {
			t.Errorf("page %d (-want +got):\n%s", i, diff)
		}
		after, carry = next, rest
	}
}

// countedPages is a Store of which is noted how many pages were asked for.
type countedPages struct {
	Store
	pages int
}

func (s *countedPages) Page(ctx context.Context, scan Scan) ([]Doc, error) {
	s.pages++
	return s.Store.Page(ctx, scan)
}

// A page waits for its turn before it is read, so that raw ones do not pile up, an outbox's first before it is
// decoded; and gives it back.
func TestAPageWaitsForItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		read      func(context.Context, *reader) error
		readFirst int
	}{
		"the first page": {readFirst: 1, read: func(ctx context.Context, r *reader) error {
			_, _, _, err := r.readPage(ctx, Position{}, nil)
			return err
		}},
		"of a backlog": {read: func(ctx context.Context, r *reader) error {
			r.behind = true
			_, _, _, err := r.readPage(ctx, Position{}, nil)
			return err
		}},
		"brought back": {read: func(ctx context.Context, r *reader) error {
			_, _, err := r.drainPage(ctx, Position{}, 10)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := testReader(t, docOf(1, 10*time.Second))
				store := &countedPages{Store: r.outbox.store}
				r.outbox.store = store
				turns := r.outbox.pageSlots[r.intake.lane]
				for range cap(turns) {
					turns <- struct{}{}
				}
				done := make(chan error, 1)
				go func() { done <- c.read(t.Context(), r) }()
				time.Sleep(turnPatience / 2) // of virtual time
				synctest.Wait()
				if store.pages != c.readFirst || len(done) > 0 {
					t.Errorf("before its turn it was read %d times, and has ended %d times", store.pages, len(done))
				}
				<-turns
				if err := <-done; err != nil || store.pages != 1 {
					t.Errorf("in its turn it was read %d times: %v", store.pages, err)
				}
				if len(turns) != cap(turns)-1 {
					t.Error("the turn was not given back")
				}
			})
		})
	}
}

// A page that hangs has the lane's turn; those of other outboxes wait for it, but not
// for good.
func TestAPageThatHangsDoesNotHoldUpTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := testReader(t, docOf(1, 10*time.Second))
		r.outbox.pageSlots[r.intake.lane] <- struct{}{}
		for _, behind := range []bool{true, false} {
			r.behind = behind
			began := time.Now()
			_, rest, _, err := r.readPage(t.Context(), Position{}, nil)
			if err != nil || len(rest) != 1 { // of a full page the last commit is not known to be whole
				t.Fatalf("read %d records, %v", len(rest), err)
			}
			if waited := time.Since(began); waited != turnPatience { // of virtual time
				t.Errorf("waited %v, want %v", waited, turnPatience)
			}
		}
	})
}

// Records whose createdAt is no time come behind all others, and no query reads on from
// one of them: a full page of such ends the pages, or they would begin again for ever.
func TestWhatHasNoTimeEndsThePages(t *testing.T) {
	timeless := func(version int64) Doc {
		d := docOf(version, 10*time.Second)
		d.CreatedAt = time.Time{}
		return d
	}
	before := docOf(1, 10*time.Second)
	r := testReader(t, timeless(2), timeless(3), timeless(4))
	b, carry, next, err := r.readPage(t.Context(), before.position(), []Doc{before})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 4}, versionsOf(b.entries)); diff != "" || len(carry) > 0 || !next.Zero() {
		t.Errorf("%d are carried over, and pages go on after %v; taken (-want +got):\n%s", len(carry), next, diff)
	}
	docs, end, err := r.drainPage(t.Context(), before.position(), 3)
	if err != nil || len(docs) != 3 || end != feed.EndOfTime {
		t.Errorf("a drain reads %d and goes on after %v (%v), want three, and the end", len(docs), end, err)
	}
}

// A listener tells of fresh records, which are taken: but the cursor, where the
// next listener may start, stays before them.
func TestTheCursorStaysBeforeWhatIsFresh(t *testing.T) {
	r := testReader(t)
	docs := []Doc{docOf(1, 10*time.Second), docOf(2, feed.Freshness/2), docOf(3, 0)}
	b := r.decode(t.Context(), docs)
	if diff := cmp.Diff([]int64{1, 2, 3}, versionsOf(b.entries)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if want := docs[0].position(); b.cursor != want {
		t.Errorf("the cursor goes to %v, want %v", b.cursor, want)
	}
}

// A whole lane may come as strays: they are taken in the order of their versions,
// as a lane begins with what it has.
func TestStraysAreTakenInOrder(t *testing.T) {
	o := testReader(t).outbox
	if n := o.takeStrays(t.Context(), []Doc{docOf(3, 0), docOf(1, 0), docOf(2, 0)}); n != 3 {
		t.Fatalf("%d are taken, want 3", n)
	}
	var taken []int64 // broken as they are, they go to the dead-letter queue at once
	for _, s := range o.settlers {
		for _, st := range s.queue {
			taken = append(taken, st.entry.rec.AggregateVersion)
		}
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, taken); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
