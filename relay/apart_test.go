package relay_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/relay"
)

// While nothing of one outbox can be written, the others of its lane are marked: also
// more of them than the lane keeps in memory.
func TestAnOutboxThatCannotBeSettledHoldsUpNoOther(t *testing.T) { settlesApart(t, newCloud(t)) }

func TestAnOutboxThatCannotBeSettledHoldsUpNoOtherOnGoogle(t *testing.T) {
	settlesApart(t, onGoogle(t))
}

// unsettled has commits that settle records of an outbox fail, until mended. Google's
// emulator does not fail at will: there the store does so before it asks.
func (f *fixture) unsettled(outbox string) (mend func()) {
	if f.cloud.embedded != nil {
		return f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Match: settles(outbox), Code: codes.Unavailable})
	}
	var mended atomic.Bool
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, commit: func(ctx context.Context, writes []relay.Write) ([]time.Time, error) {
			ours := func(w relay.Write) bool { return w.Collection == outbox && !strings.HasPrefix(w.ID, "!") }
			if !mended.Load() && slices.ContainsFunc(writes, ours) {
				return nil, status.Error(codes.Unavailable, "scripted")
			}
			return store.Commit(ctx, writes)
		}}
	}
	return func() { mended.Store(true) }
}

func settlesApart(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.shrink(outageWindow, outageInFlight)
	f.tuning.CommitSize = 5                  // so that few records are more batches than there are slots
	f.tuning.CommitTimeout = 2 * time.Second // which is how long the SDK tries by itself
	mend := f.unsettled("wsOutbox")
	defer mend()
	r := f.run()
	stuck := f.records("wsOutbox", 2*outageInFlight, 10)
	f.append(stuck, 20)
	others := f.records("skillOutbox", 4*outageInFlight, 20)
	f.append(others, 20)
	f.eventually("the other outbox is marked", func() bool { return f.unmarked(others, contracts.Delivered) == 0 })
	if n := f.unmarked(stuck, contracts.Delivered); n != len(stuck) {
		t.Errorf("%d records are marked that cannot be written", len(stuck)-n)
	}
	f.eventually("the gauge tells of them", func() bool { return r.gauge("relay_unsettled_records", "outbox", "wsOutbox") > 0 })
	if n := r.gauge("relay_unsettled_records", "outbox", "skillOutbox"); n != 0 {
		t.Errorf("the gauge tells of %v records of the other outbox", n)
	}
	mend()
	f.eventually("the stuck ones are marked", func() bool { return f.unmarked(stuck, contracts.Delivered) == 0 })
	if got, want := f.delivered(slices.Concat(stuck, others)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
	if n := r.gauge("relay_unsettled_records", "outbox", "wsOutbox"); n != 0 {
		t.Errorf("the gauge tells of %v records in the end", n)
	}
}

// While no dead letter can be written, what is delivered is marked: of the same outbox, too.
func TestDeadLettersThatCannotBeWrittenHoldUpNothing(t *testing.T) {
	f := setup(t, newCloud(t))
	f.script(func(_ context.Context, _ string, r *contracts.Record) error {
		if strings.HasPrefix(r.AggregateID, "dies-") {
			return failure(contracts.Permanent, "InvalidArgument")
		}
		return nil
	})
	f.tuning.CommitSize = 5
	letters := f.cloud.embedded.Faults().Add(localfirestore.Fault{
		Method: "Commit", Match: creates(contracts.CollectionDeadLetters), Code: codes.PermissionDenied,
	})
	defer letters()
	r := f.run()
	dying := f.each("wsOutbox", "dies", 60)
	sound := f.records("wsOutbox", 200, 20)
	f.append(slices.Concat(dying[:30], sound[:100], dying[30:], sound[100:]), 20)
	f.eventually("the sound records are marked", func() bool { return f.unmarked(sound, contracts.Delivered) == 0 })
	if n := len(f.deadLetters()); n != 0 {
		t.Errorf("%d dead letters are written", n)
	}
	letters()
	f.eventually("the others are dead", func() bool { return f.unmarked(dying, contracts.Dead) == 0 })
	if n := len(f.deadLetters()); n != len(dying) {
		t.Errorf("%d dead letters are written, want %d", n, len(dying))
	}
	if got, want := f.delivered(sound), (judgement{}); got != want {
		t.Errorf("got %+v, want every sound record once and in order", got)
	}
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
}
