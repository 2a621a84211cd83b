package relay

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// lockedOnce is an unreachable store in which the records of another outbox are locked
// once by somebody else.
type lockedOnce struct {
	unreachable
	locked int // commits that are left to abort
}

func (s *lockedOnce) Commit(ctx context.Context, writes []Write) ([]time.Time, error) {
	s.lock.Lock()
	abort := s.locked > 0 && writes[0].Collection == "schedOutbox"
	if abort {
		s.locked--
	}
	s.lock.Unlock()
	if abort {
		return nil, refusedWith("Aborted")
	}
	return s.unreachable.Commit(ctx, writes)
}

// What is tried by itself, as its commits hang though others' do not, is told of, and
// takes the slots of its own outbox alone.
func TestWhatIsTriedByItselfIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hanging = 100
		r, _ := newTestRelay(t)
		all := true // of wsOutbox; later all but r-0
		store := &lockedOnce{unreachable: unreachable{hangs: true, out: true, written: make(map[string]int)}}
		store.fails = func(w Write) bool { return w.Collection == "wsOutbox" && (all || w.ID != "r-0") }
		s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
		var running sync.WaitGroup
		running.Go(func() { s.run(t.Context()) })
		ws, sched := r.newOutbox(contracts.Share{Outbox: "wsOutbox", Of: 1}, always{}), r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
		for i := range hanging {
			s.settle(settlementFor(ws, fmt.Sprint("r-", i), false))
		}
		time.Sleep(12 * time.Hour) // each was tried often
		store.lock.Lock()
		all = false
		store.lock.Unlock()
		time.Sleep(12 * time.Hour) // and one was answered
		told := s.unsettled()
		if len(told) != 1 || told[0].Outbox != "wsOutbox" || told[0].Records != hanging-1 || store.writtenOf(t, "wsOutbox", 1) != 1 {
			t.Errorf("told of %+v, want %d records", told, hanging-1)
		}
		if age := time.Since(told[0].Since); age < 6*time.Hour || age > 12*time.Hour {
			t.Errorf("told that it lasts %v, want since one was answered", age)
		}
		store.lock.Lock()
		store.locked = 1
		store.lock.Unlock()
		s.settle(settlementFor(sched, "r-0", false))
		time.Sleep(10 * time.Second)
		if store.writtenOf(t, "schedOutbox", 1) != 1 {
			t.Error("a record of another outbox waits for those that hang")
		}
		store.lock.Lock()
		store.out = false
		store.lock.Unlock()
		s.drain()
		running.Wait()
		if n := store.writtenOf(t, "wsOutbox", hanging); n != hanging {
			t.Errorf("%d records are written in the end, want %d", n, hanging)
		}
		if told := s.unsettled(); told != nil {
			t.Errorf("told of %+v in the end", told)
		}
	})
}
