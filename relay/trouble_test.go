package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// unreachable is a store that answers no commit with a write that fails says, as long as
// it is out.
type unreachable struct {
	slowStore
	fails func(Write) bool
	hangs bool // rather than to fail at once

	lock    sync.Mutex
	out     bool
	failed  int // commits
	written map[string]int
}

func (s *unreachable) Commit(ctx context.Context, writes []Write) ([]time.Time, error) {
	s.lock.Lock()
	fails := s.out && slices.ContainsFunc(writes, s.fails)
	if fails {
		s.failed++
	}
	s.lock.Unlock()
	if fails {
		if s.hangs {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("unavailable")
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, w := range writes {
		s.written[w.Collection+"/"+w.ID]++
	}
	return allAt(writes, time.Now()), ctx.Err()
}

// writtenOf returns how many documents of a collection are written, each once.
func (s *unreachable) writtenOf(t *testing.T, collection string, records int) int {
	t.Helper()
	s.lock.Lock()
	defer s.lock.Unlock()
	n := 0
	for i := range records {
		switch s.written[fmt.Sprint(collection, "/r-", i)] {
		case 0:
		case 1:
			n++
		default:
			t.Errorf("%s/r-%d is written more than once", collection, i)
		}
	}
	return n
}

func of(collection string) func(Write) bool {
	return func(w Write) bool { return w.Collection == collection }
}

// What cannot be written holds up nothing that can: neither another outbox, nor the
// marks of its own while it is the dead letters that fail, nor the rest of its
// outbox if it is one document.
func TestWhatCannotBeSettledHoldsUpNothingElse(t *testing.T) {
	const records = 1500
	one := func(w Write) bool { return w.Collection == "wsOutbox" && w.ID == "r-77" }
	for name, test := range map[string]struct {
		fails           func(Write) bool
		hangs, burials  bool
		outbox, another int // records that are written all the same
	}{
		"an outbox":             {of("wsOutbox"), false, false, 0, records},
		"an outbox that hangs":  {of("wsOutbox"), true, false, 0, records},
		"dead letters":          {of(contracts.CollectionDeadLetters), false, true, records / 2, records},
		"dead letters hang":     {of(contracts.CollectionDeadLetters), true, true, records / 2, records},
		"a document":            {one, false, false, records - 1, records},
		"a document that hangs": {one, true, false, records - 1, records},
		"all":                   {func(Write) bool { return true }, false, true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newTestRelay(t)
				store := &unreachable{fails: test.fails, hangs: test.hangs, out: true, written: make(map[string]int)}
				s := newSettler(contracts.StandardLane, 50*time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
				var running sync.WaitGroup
				running.Go(func() { s.run(t.Context()) })
				var outboxes []*outbox
				for _, name := range []string{"wsOutbox", "schedOutbox"} {
					outboxes = append(outboxes, r.newOutbox(contracts.Share{Outbox: name, Of: 1}, always{}))
				}
				for i := range records {
					for _, o := range outboxes {
						s.settle(settlementFor(o, fmt.Sprint("r-", i), test.burials && i%2 == 0 && o == outboxes[0]))
					}
					time.Sleep(time.Millisecond)
				}
				time.Sleep(20 * time.Minute)
				if n := store.writtenOf(t, "wsOutbox", records); n != test.outbox {
					t.Errorf("%d records of its outbox are written meanwhile, want %d", n, test.outbox)
				}
				if n := store.writtenOf(t, "schedOutbox", records); n != test.another {
					t.Errorf("%d records of the other outbox are written meanwhile, want %d", n, test.another)
				}
				store.lock.Lock()
				store.out = false
				if most := 500; store.failed > most {
					t.Errorf("%d commits failed in 20 minutes, want %d at most", store.failed, most)
				}
				store.lock.Unlock()
				s.drain()
				running.Wait()
				for i, o := range outboxes {
					if n := store.writtenOf(t, o.spec.Name, records); n != records {
						t.Errorf("%d records of outbox %d are written in the end, want %d", n, i, records)
					}
					if n := o.ledger.size(); n != 0 {
						t.Errorf("%d records are left in memory", n)
					}
				}
			})
		})
	}
}

// What waits for another try when the relay stops is tried at once.
func TestAStopWaitsForNoTry(t *testing.T) {
	for name, ask := range map[string]func(*settler){
		"a stop":                   (*settler).drain,
		"an outbox that is let go": func(s *settler) { s.hurry(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newTestRelay(t)
				store := &unreachable{fails: of("wsOutbox"), out: true, written: make(map[string]int)}
				s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
				var running sync.WaitGroup
				running.Go(func() { s.run(t.Context()) })
				s.settle(settlementFor(r.newOutbox(contracts.Share{Outbox: "wsOutbox", Of: 1}, always{}), "r-0", false))
				for failed := 0; ; { // until it was tried just now, and long before
					began := time.Now()
					synctest.Wait()
					store.lock.Lock()
					tried := store.failed > failed
					failed = store.failed
					store.lock.Unlock()
					if tried && failed > 12 {
						break
					}
					time.Sleep(time.Until(began.Add(time.Millisecond)))
				}
				store.lock.Lock()
				store.out = false
				store.lock.Unlock()
				began := time.Now()
				ask(s)
				synctest.Wait()
				if n := store.writtenOf(t, "wsOutbox", 1); n != 1 || time.Since(began) > 0 {
					t.Errorf("%d is written at once, want 1", n)
				}
				s.drain()
				running.Wait()
			})
		})
	}
}

// The trouble of a batch may be over by the time that the batch is tried, as a commit
// that was under way is answered.
func TestATroubleMayEndBeforeItsBatchIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestRelay(t)
		store := &unreachable{fails: of("wsOutbox"), written: make(map[string]int)}
		s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
		o := r.newOutbox(contracts.Share{Outbox: "wsOutbox", Of: 1}, always{})
		failed, answered := settlementFor(o, "r-0", false), settlementFor(o, "r-1", false)
		s.unanswered(t.Context(), []*settlement{failed}, errors.New("unavailable"))
		time.Sleep(time.Minute)
		s.mu.Lock()
		trouble, batch, _ := s.due()
		s.mu.Unlock()
		s.answered(t.Context(), []*settlement{answered})
		if len(s.troubles) > 0 {
			t.Fatal("its trouble lasts")
		}
		s.probe(t.Context(), trouble, batch)
		s.commits.Wait()
		if n := store.writtenOf(t, "wsOutbox", 1); n != 1 {
			t.Errorf("%d is written, want 1", n)
		}
	})
}

// settlementFor makes a settlement of a record that is in memory.
func settlementFor(o *outbox, id string, dead bool) *settlement {
	e := recordOf(o, id)
	st := &settlement{entry: e, kind: settleDelivered, at: time.Now()}
	if dead {
		st.kind = settleDead
		st.dead = &deadLetter{item: dlq.Item{
			ID: "letter-" + id, Tier: contracts.SafeAuto, Outbox: o.spec.Name, RecordPath: e.rec.Path(), AggregateID: id,
			DeadAt: time.Now(), Record: map[string]any{"eventId": id},
		}}
	}
	return st
}
