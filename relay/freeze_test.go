package relay_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay"
)

const account = "account-1" // the aggregate that is frozen

// claimsFail makes every attempt at CLAIMS_HANDLER fail for one version of the
// account.
func (f *fixture) claimsFail(version int64) {
	f.script(func(_ context.Context, target string, r *contracts.Record) error {
		if target == "CLAIMS_HANDLER" && r.AggregateID == account && r.AggregateVersion == version {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
}

// freeze writes a freeze as a burial does.
func (f *fixture) freeze(aggregateID string, state dlq.FreezeState) {
	f.t.Helper()
	_, err := f.freezeDoc(aggregateID).Set(f.ctx, map[string]any{
		"aggregateId": aggregateID, "state": string(state), "frozenAt": time.Now(), "deadLetters": []string{},
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) freezeDoc(aggregateID string) *firestore.DocumentRef {
	return f.db.Collection(contracts.CollectionFrozen).Doc(dlq.FreezeID(aggregateID))
}

// arrivals counts the messages of an aggregate.
func (f *fixture) arrivals(aggregateID string) int {
	n := 0
	for _, m := range f.inbox.all() {
		if m.attributes["aggregateId"] == aggregateID {
			n++
		}
	}
	return n
}

// held waits until the records are held.
func (f *fixture) held(records []*contracts.Record) {
	f.t.Helper()
	f.eventually("they are held", func() bool { return f.unmarked(records, contracts.Held) == 0 })
}

func TestSecurityBlockFreezes(t *testing.T)         { securityBlockFreezes(t, newCloud(t)) }
func TestSecurityBlockFreezesOnGoogle(t *testing.T) { securityBlockFreezes(t, onGoogle(t)) }

func securityBlockFreezes(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.retries(3, time.Millisecond)
	f.claimsFail(1)
	f.withQueue(nil)
	alerts := f.queue.Hear(dlq.BellAlerts)
	r := f.run()
	roles := f.series("accOutbox", "RoleChanged", account, 1, 5)
	f.append(roles, 5)
	f.eventually("the first is dead", func() bool { return f.unmarked(roles[:1], contracts.Dead) == 0 })
	f.held(roles[1:])
	<-alerts

	// All of it came in one commit.
	snap := func(collection string) *firestore.DocumentSnapshot {
		docs, err := f.db.Collection(collection).Documents(f.ctx).GetAll()
		if err != nil || len(docs) != 1 {
			t.Fatalf("got %d documents of %s and error %v, want one", len(docs), collection, err)
		}
		return docs[0]
	}
	letter, frozen, alert, audit := snap(contracts.CollectionDeadLetters), snap(contracts.CollectionFrozen), snap(contracts.CollectionErrorLog), snap(contracts.CollectionAudit)
	record, err := f.db.Doc(roles[0].Path()).Get(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*firestore.DocumentSnapshot{"dead letter": letter, "freeze": frozen, "alert": alert, "audit entry": audit} {
		if !s.UpdateTime.Equal(record.UpdateTime) {
			t.Errorf("the %s was written at %v, its record at %v", name, s.UpdateTime, record.UpdateTime)
		}
	}
	want := map[string]any{"aggregateId": account, "state": "frozen", "reason": "ATTEMPTS_EXHAUSTED", "deadLetters": []any{letter.Ref.ID}}
	for field, want := range want {
		if diff := cmp.Diff(want, frozen.Data()[field]); diff != "" {
			t.Errorf("freeze, field %s (want -, got +):\n%s", field, diff)
		}
	}
	if a := alert.Data(); a["publishedAt"] != nil || a["deadLetter"] != letter.Ref.ID || letter.Data()["state"] != "blocked" {
		t.Errorf("got alert %v of a dead letter that is %v", a, letter.Data()["state"])
	}

	// Later records of the account are held wherever they are appended.
	tasks := f.series("wsOutbox", "TaskCompleted", account, 1, 20)
	later := f.series("accOutbox", "WalletDeducted", account, 6, 8)
	others := slices.Concat(f.series("wsOutbox", "TaskCompleted", "other", 1, 20), f.series("accOutbox", "RoleChanged", "other", 1, 5))
	f.append(slices.Concat(tasks, later, others), 7)
	if got, want := f.delivered(others), (judgement{}); got != want {
		t.Errorf("others: got %+v, want every record once and in order", got)
	}
	f.held(append(tasks, later...))
	if n := f.arrivals(account); n > 0 {
		t.Errorf("%d messages of the frozen account arrived, want none", n)
	}
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 }) // the relay knows what it has written
	if n := r.metric("relay_settlements_total", "kind", "held"); n != float64(len(roles)-1+len(tasks)+len(later)) {
		t.Errorf("got %v holds counted", n)
	}
}

// queueStore wraps the queue's store: what is nil goes to the store itself.
type queueStore struct {
	dlq.Store
	query func(ctx context.Context, q dlq.Query) ([]dlq.Doc, error)
	watch func(ctx context.Context, q dlq.Query, f func([]dlq.Doc)) error
}

func (s *queueStore) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	if s.query != nil {
		return s.query(ctx, q)
	}
	return s.Store.Query(ctx, q)
}

func (s *queueStore) Watch(ctx context.Context, q dlq.Query, f func([]dlq.Doc)) error {
	if s.watch != nil {
		return s.watch(ctx, q, f)
	}
	return s.Store.Watch(ctx, q, f)
}

// Nothing is read before the freezes are known, however long that takes.
func TestFreezesAreKnownBeforeAnythingIsRead(t *testing.T) {
	f := setup(t, newCloud(t))
	known, asked := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.withQueue(func(s dlq.Store) dlq.Store {
		failures := 2
		return &queueStore{Store: s, query: func(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
			if q.Collection == contracts.CollectionFrozen {
				if failures--; failures >= 0 {
					return nil, failure(contracts.Outage, "Unavailable")
				}
				once.Do(func() { close(asked) })
				<-known
			}
			return s.Query(ctx, q)
		}}
	})
	var reads atomic.Int64
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{
			Store: store,
			page:  func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) { reads.Add(1); return store.Page(ctx, s) },
			watch: func(ctx context.Context, s relay.Scan) (relay.Stream, error) {
				reads.Add(1)
				return store.Watch(ctx, s)
			},
		}
	}
	f.freeze(account, dlq.Frozen)
	tasks := f.series("wsOutbox", "TaskCompleted", account, 1, 20)
	others := f.series("wsOutbox", "TaskCompleted", "other", 1, 20)
	f.append(slices.Concat(tasks, others), 10)
	f.run()
	<-asked
	if n := reads.Load(); n > 0 {
		t.Errorf("outboxes were read %d times before the freezes were known", n)
	}
	close(known)
	f.delivered(others)
	f.held(tasks)
	if n := f.arrivals(account); n > 0 {
		t.Errorf("%d messages of the frozen account arrived, want none", n)
	}
}

// Records that wait in their lane when their aggregate is frozen are held at
// once, with what they have gone through.
func TestFreezeHoldsWhatWaitsInItsLane(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(3, 100*time.Hour)
	f.script(func(_ context.Context, target string, r *contracts.Record) error {
		if target == "FUNNEL" && r.AggregateID == account && r.Attempts == 0 {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	f.withQueue(nil)
	r := f.run()
	records := f.series("schedOutbox", "ScheduleAssigned", account, 1, 4)
	f.append(records, 4)
	f.eventually("the first waits for its retry", func() bool { return f.fields(records[0].Path())["status"] == "retrying" })
	f.freeze(account, dlq.Frozen)
	f.held(records)
	head := f.fields(records[0].Path())
	if head["attempts"] != int64(1) || !cmp.Equal(head["deliveredTargets"], []any{"NOTIF_ROUTER"}) || head["nextAttemptAt"] != nil {
		t.Errorf("got attempts %v, delivered targets %v and next attempt %v", head["attempts"], head["deliveredTargets"], head["nextAttemptAt"])
	}
	f.retries(3, time.Millisecond)
	f.release()
	f.turnBack()
	f.endFreeze()
	if got := f.delivered(records); got.disordered > 0 || got.duplicates > 0 {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
}

// A watch that is deaf or dies does no more harm than delay.
func TestFreezesAreSeenWithoutTheWatch(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"deaf", "dying"} {
		t.Run(how, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.tuning.SweepInterval = 50 * time.Millisecond
			var opened atomic.Int64
			f.withQueue(func(s dlq.Store) dlq.Store {
				return &queueStore{Store: s, watch: func(ctx context.Context, q dlq.Query, _ func([]dlq.Doc)) error {
					opened.Add(1)
					if how == "deaf" {
						<-ctx.Done()
						return ctx.Err()
					}
					return failure(contracts.Outage, "Unavailable")
				}}
			})
			r := f.run()
			r.alive()
			f.freeze(account, dlq.Frozen)
			f.eventually("the freeze is known", func() bool { return r.relay.Health().Frozen == 1 })
			tasks := f.series("wsOutbox", "TaskCompleted", account, 1, 5)
			f.append(tasks, 5)
			f.held(tasks)
			f.release()
			f.turnBack()
			f.endFreeze()
			if got, want := f.delivered(tasks), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			if n := opened.Load(); how == "dying" && n < 3 { // freezes and lanes, and again
				t.Errorf("the watches were opened %d times, want them rebuilt", n)
			}
		})
	}
}

func TestSweepLetsGoWhatIsHeldForNothing(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval = 50 * time.Millisecond
	f.withQueue(nil)
	f.freeze(account, dlq.Frozen)
	r := f.run()
	tasks := f.series("wsOutbox", "TaskCompleted", account, 1, 10)
	f.append(tasks, 5)
	f.held(tasks)
	f.endFreeze() // by hand
	if got, want := f.delivered(tasks), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	if n := r.metric("relay_sweep_found_total", "found", "held"); n != float64(len(tasks)) {
		t.Errorf("the sweep found %v records, want %d", n, len(tasks))
	}
}
