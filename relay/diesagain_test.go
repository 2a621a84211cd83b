package relay_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// A record that dies again, as its producer appended it anew, keeps what was decided about
// its dead letter, and nothing else of it: also what is decided, or deleted, as it is written.
func TestDecisionsOutliveAnotherDeath(t *testing.T)         { decisionsOutlive(t, newCloud(t)) }
func TestDecisionsOutliveAnotherDeathOnGoogle(t *testing.T) { decisionsOutlive(t, onGoogle(t)) }

func decisionsOutlive(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.script(func(context.Context, string, *contracts.Record) error {
		return failure(contracts.Permanent, "InvalidArgument")
	})
	letters := f.db.Collection(contracts.CollectionDeadLetters)
	decided, gone := f.record("wsOutbox", "TaskCompleted", "decided", 1), f.record("wsOutbox", "TaskCompleted", "gone", 1)
	both := []*contracts.Record{decided, gone}
	letterOf := func(r *contracts.Record) *firestore.DocumentRef {
		return letters.Doc(f.letterID(r))
	}
	decide := func(action string) {
		if _, err := letterOf(decided).Update(f.ctx, []firestore.Update{
			{Path: "decisions", Value: firestore.ArrayUnion(map[string]any{"id": action, "action": action, "by": "ann", "at": time.Now(), "reason": "told so"})},
			{Path: "state", Value: "discarded"},
			{Path: "authorizedBy", Value: "ann"},
		}); err != nil {
			t.Error(err)
		}
	}
	meanwhile := sync.OnceFunc(func() {
		decide("note")
		if _, err := letterOf(gone).Delete(f.ctx); err != nil {
			t.Error(err)
		}
	})
	var again atomic.Bool
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, commit: func(ctx context.Context, writes []relay.Write) ([]time.Time, error) {
			if slices.ContainsFunc(writes, func(w relay.Write) bool {
				return w.Collection == contracts.CollectionDeadLetters && w.Op == relay.OpSet
			}) {
				again.Store(true)
				meanwhile()
			}
			return store.Commit(ctx, writes)
		}}
	}
	f.run()
	f.append(both, 2)
	f.eventually("both are dead", func() bool { return f.unmarked(both, contracts.Dead) == 0 })
	decide("discard")
	for _, r := range both {
		if _, err := f.db.Collection(r.Outbox).Doc(r.ID).Delete(f.ctx); err != nil {
			t.Fatal(err)
		}
	}
	f.append(both, 2)
	f.eventually("both are dead again", func() bool { return f.unmarked(both, contracts.Dead) == 0 })
	if !again.Load() {
		t.Error("no dead letter was written in place of another")
	}
	for r, want := range map[*contracts.Record]int{decided: 2, gone: 0} {
		doc, err := letterOf(r).Get(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		decisions, _ := doc.Data()["decisions"].([]any)
		if len(decisions) != want || doc.Data()["state"] != "scheduled" || doc.Data()["authorizedBy"] != nil || !has(doc.Data(), "nextReplayAt", "aggregateVersion") {
			t.Errorf("%s: state %v with decisions %v, want it scheduled with %d", r.AggregateID, doc.Data()["state"], decisions, want)
		}
	}
}

// letterID finds the dead letter of a record.
func (f *fixture) letterID(r *contracts.Record) string {
	f.t.Helper()
	docs, err := f.db.Collection(contracts.CollectionDeadLetters).Where("recordPath", "==", r.Path()).Documents(f.ctx).GetAll()
	if err != nil || len(docs) != 1 {
		f.t.Fatalf("%d dead letters of %s, %v", len(docs), r.Path(), err)
	}
	return docs[0].Ref.ID
}

// has reports whether a document has all these fields, though they may be null.
func has(doc map[string]any, fields ...string) bool {
	for _, f := range fields {
		if _, ok := doc[f]; !ok {
			return false
		}
	}
	return true
}
