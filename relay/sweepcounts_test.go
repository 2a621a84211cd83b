package relay_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
	"outboxrelay/relay/feed"
)

// retained writes so many documents that were delivered, and returns them.
func (f *fixture) retained(outbox string, documents int) []*firestore.DocumentRef {
	f.t.Helper()
	const commit = 500
	var refs []*firestore.DocumentRef
	for len(refs) < documents {
		err := f.db.RunTransaction(f.ctx, func(_ context.Context, tx *firestore.Transaction) error {
			for range min(commit, documents-len(refs)) {
				ref := f.db.Collection(outbox).Doc(fmt.Sprintf("retained-%05d", len(refs)))
				refs = append(refs, ref)
				if err := tx.Create(ref, map[string]any{contracts.FieldStatus: string(contracts.Delivered)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return refs
}

// swept waits until an outbox was swept so many times more.
func (f *fixture) swept(r *running, outbox string, times int) {
	f.t.Helper()
	var last time.Time
	for range times {
		f.eventually("another sweep is done", func() bool {
			at := r.outbox(outbox).SweptAt
			done := at != nil && at.After(last)
			if done {
				last = *at
			}
			return done
		})
	}
}

// Retained records expire all the time, also between any two counts of a sweep:
// that is no reason to read the collection.
func TestSweepReadsNothingForWhatExpires(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval = 20 * time.Millisecond
	const documents, sweeps = 1000, 10
	left := f.retained("wsOutbox", documents)
	var mu sync.Mutex
	f.cloud.embedded.Faults().Add(localfirestore.Fault{
		Method: "RunAggregationQuery", Collection: "wsOutbox", Match: func(localfirestore.Call) bool {
			mu.Lock()
			defer mu.Unlock()
			if len(left) > 0 {
				if _, err := left[0].Delete(context.Background()); err != nil {
					t.Error(err)
				}
				left = left[1:]
			}
			return false
		},
	})
	r := f.run()
	f.swept(r, "wsOutbox", sweeps)
	mu.Lock()
	expired := documents - len(left)
	mu.Unlock()
	if expired < 2*sweeps {
		t.Fatalf("%d documents expired in %d sweeps, want some in each", expired, sweeps)
	}
	// An empty query is one read: some for each sweep.
	if n := r.metric("relay_reads_total", "outbox", "wsOutbox", "by", "page"); n >= documents {
		t.Errorf("%d documents expired, and %v were read in pages by %d sweeps, want next to none", expired, n, sweeps)
	}
}

// A document without a status is searched for once, some pages in each sweep.
func TestSweepSearchesInPortions(t *testing.T) {
	const documents, portion = 2500, 1000
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval = 20 * time.Millisecond
	f.retained("wsOutbox", documents)
	last := f.db.Collection("wsOutbox").Doc("without-status")
	if _, err := last.Create(t.Context(), map[string]any{"eventId": "e"}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	read, most, all := 0, 0, 0 // by the sweep under way, by one, by all
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			page, err := store.Page(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case s.Outbox != "wsOutbox":
			case s.Kind == relay.ScanNullStatus: // comes before the search in each sweep
				read = 0
			case s.Kind == relay.ScanEverything:
				read += len(page)
				most, all = max(most, read), all+len(page)
			}
			return page, err
		}}
	}
	r := f.run()
	f.eventually("it is dead", func() bool { return f.fields("wsOutbox/" + last.ID)[contracts.FieldStatus] == string(contracts.Dead) })
	total := func() int {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
	f.swept(r, "wsOutbox", 6) // a search that began before then is over
	before := total()
	f.swept(r, "wsOutbox", 6)
	if after := total(); after != before {
		t.Errorf("%d documents were read when there was nothing left to be found, want none", after-before)
	}
	mu.Lock()
	defer mu.Unlock()
	if most > portion {
		t.Errorf("a sweep read %d documents, want at most %d", most, portion)
	}
}

// What the relay has not read yet for want of room was missed by no listener.
func TestSweepBlamesNobodyForWantOfRoom(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	t.Run("behind a window", func(t *testing.T) { sweepsWithoutRoom(t, 20) })
	t.Run("told of by a listener", func(t *testing.T) { sweepsWithoutRoom(t, 200) })
}

func sweepsWithoutRoom(t *testing.T, window int) {
	f := setup(t, newCloud(t))
	const room = 10
	f.shrink(window, room)
	f.tuning.SweepInterval, f.tuning.SweepAge = 50*time.Millisecond, 501*time.Millisecond
	r := f.run()
	r.alive()
	before := f.series("wsOutbox", "TaskCompleted", "agg", 1, 1)
	f.append(before, 1)
	f.delivered(before) // the listener is at work
	mend := f.unsettling()
	defer mend()
	records := f.series("wsOutbox", "TaskCompleted", "agg", 2, 60)
	f.append(records[:room], room)
	f.eventually("there is no room", func() bool { return r.outbox("wsOutbox").InMemory == room })
	f.append(records[room:], 5)
	appended := time.Now()
	f.eventually("the others are old", func() bool { return time.Since(appended) > 4*feed.Freshness })
	missed := func() float64 {
		return r.metric("relay_sweep_found_total", "outbox", "wsOutbox", "found", "missed")
	}
	f.swept(r, "wsOutbox", 5)
	if n := missed(); n != 0 {
		t.Errorf("%v records count as missed that there is no room for", n)
	}
	mend()
	if got, want := f.delivered(append(before, records...)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	if n := missed(); n != 0 {
		t.Errorf("%v records count as missed that there was no room for", n)
	}
}
