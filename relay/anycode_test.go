package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/thorough"
)

// Codes that count for one record are an outage when they are the rule: nothing is
// dead-lettered, no aggregate is frozen, and what they counted before that was
// plain is taken back.
func TestAnOutageOfAnyCodeBuriesNothing(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Internal, codes.Unknown, codes.Aborted} {
		if code != codes.Internal && !thorough.Whole() {
			continue
		}
		t.Run(code.String(), func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.retries(3, 20*time.Millisecond)
			f.withQueue(nil)
			var all []*contracts.Record
			for a := range 20 {
				all = append(all,
					f.record("wsOutbox", "TaskCompleted", fmt.Sprintf("a-%d", a), 1),
					f.record("accOutbox", "RoleChanged", fmt.Sprintf("account-%d", a), 1))
			}
			mends := []func(){
				f.breaks(localpubsub.Fault{Topic: f.catalog.Targets["FUNNEL"].Topic, Code: code}),
				f.breaks(localpubsub.Fault{Topic: f.catalog.Targets["CLAIMS_HANDLER"].Topic, Code: code}),
			}
			var calls atomic.Int64
			f.script(func(context.Context, string, *contracts.Record) error { calls.Add(1); return nil })
			r := f.run()
			r.alive()
			var closed atomic.Int64
			r.router.Subscribe(func(target string, open bool) {
				if target == "FUNNEL" && !open {
					closed.Add(1)
				}
			})
			f.append(all, 10)
			f.eventually("both are out", func() bool { return f.breakerOpen(r, "FUNNEL") && f.breakerOpen(r, "CLAIMS_HANDLER") })
			before := calls.Load()
			f.eventually("probes fail", func() bool { return calls.Load() >= before+60 })
			if n := closed.Load(); n > 0 {
				t.Errorf("FUNNEL's breaker closed %d times in its outage", n)
			}
			for _, mend := range mends {
				mend()
			}
			if got := f.delivered(all); got != (judgement{}) {
				t.Errorf("got %+v, want every record once", got)
			}
			if letters := f.deadLetters(); len(letters) > 0 {
				t.Errorf("%d dead letters, want none", len(letters))
			}
			frozen, err := f.db.Collection(contracts.CollectionFrozen).Documents(f.ctx).GetAll()
			if err != nil || len(frozen) > 0 {
				t.Errorf("%d aggregates are frozen (%v), want none", len(frozen), err)
			}
			for _, fields := range f.documents(all) {
				if n, _ := fields["attempts"].(int64); n > 0 {
					t.Errorf("%v has %d attempts after the outage, want none", fields["aggregateId"], n)
				}
			}
		})
	}
}

// A target that fails one aggregate, or two, is not out: they are poison.
func TestPoisonIsNoOutage(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(3, 10*time.Millisecond)
	poison := []*contracts.Record{f.record("wsOutbox", "TaskCompleted", "p-1", 1), f.record("wsOutbox", "TaskCompleted", "p-2", 1)}
	f.breaks(localpubsub.Fault{Topic: f.catalog.Targets["FUNNEL"].Topic, Code: codes.Internal})
	f.run()
	f.append(poison, 2)
	f.eventually("they are dead", func() bool { return len(f.deadLetters()) == len(poison) })
}

// A target that fails whatever little it is sent is found to be out by the third
// aggregate, though the first two were dead before it came: nothing more of it is
// dead-lettered, however often it probes alone.
func TestAnOutageThatIsSeenOneByOneBuriesTwo(t *testing.T) { seenOneByOne(t, newCloud(t)) }

func TestAnOutageThatIsSeenOneByOneBuriesTwoOnGoogle(t *testing.T) { seenOneByOne(t, onGoogle(t)) }

func seenOneByOne(t *testing.T, c *cloud) {
	t.Helper()
	f := setup(t, c)
	f.retries(3, 10*time.Millisecond)
	f.withQueue(nil)
	var out atomic.Bool
	out.Store(true)
	var calls atomic.Int64
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" && out.Load() {
			calls.Add(1)
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	r := f.run()
	var all []*contracts.Record
	for a := range 3 {
		all = append(all, f.record("wsOutbox", "TaskCompleted", fmt.Sprintf("a-%d", a), 1))
	}
	for i, rec := range all[:2] {
		f.append([]*contracts.Record{rec}, 1)
		f.eventually("it is dead", func() bool { return len(f.deadLetters()) == i+1 })
	}
	f.append(all[2:], 1)
	f.eventually("the target is out", func() bool { return f.breakerOpen(r, "FUNNEL") })
	before := calls.Load()
	f.eventually("probes fail", func() bool { return calls.Load() >= before+15 || len(f.deadLetters()) > 2 })
	if n := len(f.deadLetters()); n > 2 {
		t.Errorf("%d dead letters, want those of before it was plain", n)
	}
	out.Store(false)
	f.eventually("the third arrives", func() bool { return f.unmarked(all[2:], contracts.Delivered) == 0 })
}
