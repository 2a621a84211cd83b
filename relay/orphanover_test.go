package relay

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// diedTwice is a store in which the record has died before, and is gone by the time
// that its second dead letter is written over the first.
type diedTwice struct {
	slowStore
	path   string // of the record
	loses  bool   // the answer of the first commit that it takes
	noted  bool   // somebody changes the letter before the first of them
	stalls bool   // letters are not read

	lock    sync.Mutex
	record  bool      // whether it is there
	changed time.Time // the letter's update time
	died    time.Time // its deadAt
	commits int
}

type letterContent struct{ fields map[string]any }

func (c letterContent) Fields() map[string]any  { return c.fields }
func (c letterContent) Raw() map[string]any     { return c.fields }
func (c letterContent) Parts() map[string]any   { return c.fields }
func (letterContent) Record() *contracts.Record { return nil }

func (s *diedTwice) Get(ctx context.Context, collection, id string) (Doc, bool, error) {
	if collection == contracts.CollectionDeadLetters && s.stalls {
		<-ctx.Done()
		return Doc{}, false, ctx.Err()
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if collection == contracts.CollectionDeadLetters {
		return Doc{ID: id, UpdateTime: s.changed, Content: letterContent{map[string]any{"recordPath": s.path, "deadAt": s.died}}}, true, nil
	}
	return Doc{ID: id, Content: letterContent{map[string]any{"status": "pending"}}}, s.record, nil
}

func (s *diedTwice) Commit(_ context.Context, writes []Write) ([]time.Time, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.commits++
	for _, w := range writes {
		letter := w.Collection == contracts.CollectionDeadLetters
		switch {
		case w.Collection == "schedOutbox" && !s.record:
			return nil, refusedWith("NotFound")
		case letter && w.Op == dlq.OpCreate:
			return nil, refusedWith("AlreadyExists")
		case letter && s.noted:
			s.noted, s.changed = false, s.changed.Add(time.Second)
		}
		if letter && !w.IfUnchangedSince.Equal(s.changed) {
			return nil, refusedWith("FailedPrecondition")
		}
	}
	s.changed = s.changed.Add(time.Second)
	for _, w := range writes {
		if w.Collection == contracts.CollectionDeadLetters {
			s.died = w.Fields[contracts.DeadFieldDeadAt].(time.Time).Truncate(time.Microsecond)
		}
	}
	if s.loses {
		s.loses = false
		return nil, errors.New("the answer is lost")
	}
	return allAt(writes, s.changed), nil
}

// A record that dies again, and is gone then, has its second death in the queue in the
// end: though an answer is lost, or somebody notes the first dead letter meanwhile.
func TestASecondDeathWithoutItsRecordIsWritten(t *testing.T) {
	for name, store := range map[string]*diedTwice{"plainly": {}, "its answer lost": {loses: true}, "noted meanwhile": {noted: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newTestRelay(t)
				e := testEntry(t, r, 3)
				store.record, store.path, store.changed, store.died = true, e.rec.Path(), time.Now(), time.Now().Add(-time.Hour)
				s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
				var running sync.WaitGroup
				running.Go(func() { s.run(t.Context()) })
				died := time.Now()
				s.settle(&settlement{entry: e, kind: settleDead, at: died, dead: &deadLetter{item: dlq.Item{
					ID: "letter", Tier: contracts.SafeAuto, Outbox: e.rec.Outbox, RecordPath: e.rec.Path(), AggregateID: "x", DeadAt: died,
					Record: map[string]any{"eventId": "1"},
				}}})
				time.Sleep(20 * time.Millisecond) // it has collided
				store.lock.Lock()
				store.record = false // its producer deletes it
				store.lock.Unlock()
				time.Sleep(time.Hour)
				s.drain()
				running.Wait()
				if !store.died.Equal(died.Truncate(time.Microsecond)) || store.commits > 12 {
					t.Errorf("after %d commits the dead letter is of %v, want that of %v", store.commits, store.died, died)
				}
				if n := e.outbox.ledger.size(); n != 0 {
					t.Errorf("%d records are left in memory, want none", n)
				}
			})
		})
	}
}

// Dead letters that cannot be read hold no slot of their lane for longer than one call.
func TestDeadLettersThatStallHoldNoSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestRelay(t)
		store := &diedTwice{record: true, stalls: true}
		s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.run(ctx) })
		o := r.newOutbox(contracts.Share{Outbox: "wsOutbox", Of: 1}, always{})
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			s.settle(settlementFor(o, id, true))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		if n := len(s.slots); n != 0 {
			t.Errorf("%d slots are held", n)
		}
		cancel()
		running.Wait()
	})
}
