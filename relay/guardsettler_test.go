package relay

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// panicky panics over commits of one document, a few times.
type panicky struct {
	slowStore
	id     string
	panics int // left

	lock    sync.Mutex
	written []string
}

func (s *panicky) Commit(ctx context.Context, writes []Write) ([]time.Time, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.panics > 0 && slices.ContainsFunc(writes, func(w Write) bool { return w.ID == s.id }) {
		s.panics--
		panic("in the store")
	}
	for _, w := range writes {
		s.written = append(s.written, w.ID)
	}
	return s.slowStore.Commit(ctx, writes)
}

// recordOf takes a record into an outbox's memory.
func recordOf(o *outbox, id string) *entry {
	e := &entry{
		outbox: o, route: o.spec.Events[0], lane: contracts.StandardLane,
		rec: &contracts.Record{Outbox: o.spec.Name, ID: id, AggregateID: id},
	}
	e.describe(Doc{ID: id}, nil)
	o.ledger.step(feed.Found{Record: &e.Record})
	return e
}

// What is tried by itself already is not tried a second time over a panic of its batch.
func TestAPanicTakesBackNothingThatWaitsForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestRelay(t)
		store := &panicky{id: "r-1", panics: 1}
		s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
		var running sync.WaitGroup
		running.Go(func() { s.run(t.Context()) })
		lease := &lapsing{}
		lease.lapsed.Store(true)
		o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, lease)
		s.settle(&settlement{entry: recordOf(o, "r-1"), kind: settleDelivered, at: time.Now()})
		s.settle(&settlement{entry: recordOf(o, "gone"), kind: settleDead, at: time.Now(), dead: &deadLetter{item: dlq.Item{ID: "letter"}, orphan: true}})
		time.Sleep(time.Minute) // the dead letter waits for the lease
		lease.lapsed.Store(false)
		time.Sleep(time.Hour)
		s.drain()
		running.Wait()
		slices.Sort(store.written)
		if store.written = slices.DeleteFunc(store.written, func(id string) bool { return id != "letter" && id != "r-1" }); !slices.Equal(store.written, []string{"letter", "r-1"}) {
			t.Errorf("written are %v, want each once", store.written)
		}
	})
}

// Get finds nothing: no letter stands, and the record is gone.
func (*panicky) Get(context.Context, string, string) (Doc, bool, error) { return Doc{}, false, nil }

// A settlement over which the program panics holds up none of its batch, is not
// forgotten, and does not end the relay.
func TestASettlementThatPanicsIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const records, panics = 8, 12
		r, _ := newTestRelay(t)
		store := &panicky{id: "r-5", panics: panics}
		s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
		var running sync.WaitGroup
		running.Go(func() { s.run(t.Context()) })
		o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
		var want []string
		for i := range records {
			e := recordOf(o, fmt.Sprint("r-", i))
			s.settle(&settlement{entry: e, kind: settleDelivered, at: time.Now()})
			want = append(want, e.rec.ID)
		}
		time.Sleep(time.Second)
		store.lock.Lock()
		others := len(store.written)
		store.lock.Unlock()
		if others != records-1 {
			t.Errorf("%d of the others are written, want %d", others, records-1)
		}
		time.Sleep(time.Hour)
		s.drain()
		running.Wait()
		slices.Sort(store.written)
		if !slices.Equal(store.written, want) {
			t.Errorf("written are %v, want each once", store.written)
		}
		if n := o.ledger.size(); n != 0 {
			t.Errorf("%d records are left in memory", n)
		}
		if store.panics != 0 {
			t.Errorf("%d panics did not come: it was not tried again", store.panics)
		}
	})
}
