package relay

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// withoutRecord is a store in which the record is gone: what insists on it is refused.
type withoutRecord struct{ slowStore }

func (*withoutRecord) Get(context.Context, string, string) (Doc, bool, error) {
	return Doc{}, false, nil
}

func (s *withoutRecord) Commit(ctx context.Context, writes []Write) ([]time.Time, error) {
	for _, w := range writes {
		if w.Collection == "schedOutbox" {
			return nil, missing{}
		}
	}
	return s.slowStore.Commit(ctx, writes)
}

type missing struct{}

func (missing) Error() string       { return "not found" }
func (missing) FailureCode() string { return "NotFound" }
func (missing) Code() string        { return "NotFound" }
func (missing) Refused() bool       { return true }

// A record that is gone as it is dead-lettered becomes a dead letter alone, but not
// once another instance owns the outbox: that may have delivered it, whereupon it
// expired. While that is open it waits.
func TestARecordThatIsGoneIsDeadForItsOwnerAlone(t *testing.T) {
	for name, test := range map[string]struct {
		grant func(*lapsing)
		want  int // documents written: the dead letter and its group
	}{
		"owned":                 {func(*lapsing) {}, 2},
		"lost":                  {func(g *lapsing) { g.ended.Store(true) }, 0},
		"lapsed":                {func(g *lapsing) { g.lapsed.Store(true); time.AfterFunc(time.Hour, func() { g.lapsed.Store(false) }) }, 2},
		"lapsed, and lost then": {func(g *lapsing) { g.lapsed.Store(true); time.AfterFunc(time.Hour, func() { g.ended.Store(true) }) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newTestRelay(t)
				grant, store := &lapsing{}, &withoutRecord{}
				s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
				var running sync.WaitGroup
				running.Go(func() { s.run(t.Context()) })
				e := testEntry(t, r, 3)
				e.outbox.grant = grant
				test.grant(grant)
				s.settle(&settlement{entry: e, kind: settleDead, at: time.Now(), dead: &deadLetter{item: dlq.Item{
					ID: "letter", Tier: contracts.SafeAuto, Outbox: e.rec.Outbox, RecordPath: e.rec.Path(), AggregateID: "x", DeadAt: time.Now(),
				}}})
				time.Sleep(2 * time.Hour)
				s.drain()
				running.Wait()
				if store.writes != test.want {
					t.Errorf("%d documents are written, want %d", store.writes, test.want)
				}
				if n := e.outbox.ledger.size(); n != 0 {
					t.Errorf("%d records are left in memory, want none", n)
				}
			})
		})
	}
}

// refusing refuses dead letters as well, a few times.
type refusing struct {
	withoutRecord
	lock  sync.Mutex
	codes []refusedWith // of the commits that are left to refuse
}

func (s *refusing) Commit(ctx context.Context, writes []Write) ([]time.Time, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if writes[0].Collection == contracts.CollectionDeadLetters && len(writes) < 3 && len(s.codes) > 0 {
		err := s.codes[0]
		s.codes = s.codes[1:]
		return nil, err
	}
	return s.withoutRecord.Commit(ctx, writes)
}

type refusedWith string

func (refusedWith) Error() string         { return "refused" }
func (r refusedWith) FailureCode() string { return string(r) }
func (r refusedWith) Code() string        { return string(r) }
func (refusedWith) Refused() bool         { return true }

// The dead letter of a record that is gone is all that is left of it: whatever it is
// refused for, it is tried again.
func TestADeadLetterWithoutItsRecordIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestRelay(t)
		store := &refusing{codes: []refusedWith{"InvalidArgument", "FailedPrecondition", "OutOfRange", "InvalidArgument"}}
		s := newSettler(contracts.StandardLane, time.Millisecond, store, DefaultTuning(), time.Now, zap.NewNop(), r.metrics)
		var running sync.WaitGroup
		running.Go(func() { s.run(t.Context()) })
		e := testEntry(t, r, 3)
		s.settle(&settlement{entry: e, kind: settleDead, at: time.Now(), dead: &deadLetter{item: dlq.Item{
			ID: "letter", Tier: contracts.SafeAuto, Outbox: e.rec.Outbox, RecordPath: e.rec.Path(), AggregateID: "x", DeadAt: time.Now(),
		}}})
		time.Sleep(time.Hour)
		s.drain()
		running.Wait()
		if len(store.codes) != 0 || store.writes != 2 {
			t.Errorf("%d documents are written, want the dead letter and its group; refusals left: %v", store.writes, store.codes)
		}
		if n := e.outbox.ledger.size(); n != 0 {
			t.Errorf("%d records are left in memory, want none", n)
		}
	})
}
