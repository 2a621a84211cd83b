package relay

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// lapsing is a grant that may lapse and come back, or end.
type lapsing struct{ lapsed, ended atomic.Bool }

func (l *lapsing) Valid() bool { return !l.lapsed.Load() && !l.ended.Load() }

func (l *lapsing) Ended() bool { return l.ended.Load() }

func (l *lapsing) Since() time.Time    { return time.Time{} }
func (l *lapsing) Idle() time.Duration { return 0 }

// outageStore does not answer the first commit, and loses a lease over it.
type outageStore struct {
	slowStore
	lease *lapsing
	out   sync.Once
}

func (s *outageStore) Commit(ctx context.Context, writes []Write) (at []time.Time, err error) {
	s.out.Do(func() { s.lease.lapsed.Store(true); err = errors.New("unavailable") })
	if err != nil {
		return nil, err
	}
	return s.slowStore.Commit(ctx, writes)
}

// A retry that another owner may not know of hides its record from that owner's
// pages: it is not written while the lease is not valid. What was delivered is.
func TestNoRetryIsMarkedWithoutTheLease(t *testing.T) {
	tests := map[string]struct {
		lapsed bool // from the beginning
		back   bool // the lease, before the next attempt fails
		store  func(*lapsing) (Store, *slowStore)
		want   int // writes: that of what was delivered, and retries
	}{
		"valid":               {false, false, reachable, 2},
		"lapsed":              {true, false, reachable, 1},
		"lapsed in an outage": {false, false, outOfReach, 1},
		"valid again":         {true, true, reachable, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newTestRelay(t)
				grant := &lapsing{}
				grant.lapsed.Store(test.lapsed)
				store, count := test.store(grant)
				s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
				var running sync.WaitGroup
				running.Go(func() { s.run(t.Context()) })
				failing, other := testEntry(t, r, 0), testEntry(t, r, 0)
				failing.outbox.grant, other.outbox.grant = grant, grant
				s.settle(&settlement{entry: failing, kind: settleRetry, at: time.Now(), failed: &failedAttempt{attempts: 1}})
				s.settle(&settlement{entry: other, kind: settleDelivered, at: time.Now()})
				time.Sleep(time.Hour)
				if test.back {
					grant.lapsed.Store(false)
					s.settle(&settlement{entry: failing, kind: settleRetry, at: time.Now(), failed: &failedAttempt{attempts: 2}})
				}
				s.drain()
				running.Wait()
				if count.writes != test.want {
					t.Errorf("%d documents are written, want %d", count.writes, test.want)
				}
				if failing.outbox.ledger.size() != 1 {
					t.Error("the failing record has left memory")
				}
			})
		})
	}
}

func reachable(*lapsing) (Store, *slowStore) {
	s := &slowStore{}
	return s, s
}

func outOfReach(l *lapsing) (Store, *slowStore) {
	s := &outageStore{lease: l}
	return s, &s.slowStore
}
