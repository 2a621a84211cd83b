package relay_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
)

// updates matches commits that change documents of these paths, and not those that
// append them.
func updates(paths ...string) func(localfirestore.Call) bool {
	return func(c localfirestore.Call) bool {
		r, _ := c.Request.(*pb.CommitRequest)
		return slices.ContainsFunc(r.GetWrites(), func(w *pb.Write) bool {
			return w.GetUpdateMask() != nil && slices.ContainsFunc(paths, func(path string) bool {
				return strings.HasSuffix(w.GetUpdate().GetName(), "/"+path)
			})
		})
	}
}

// A record whose progress cannot be written, as somebody has its document locked, cannot
// leave memory while its target is out. The younger ones of its aggregate wait for it,
// and nothing else of its lane does: neither what comes, nor what a target that is back
// again has waiting.
func TestARecordThatCannotLeaveHoldsUpItsAggregateAlone(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.OutageTolerance = 1 << 20
	var out atomic.Bool
	out.Store(true)
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" && out.Load() {
			return failure(contracts.Outage, "Unavailable")
		}
		return nil
	})
	r := f.run()
	waiting := f.each("schedOutbox", "ScheduleAssigned", 30)
	f.append(waiting, 30)
	f.eventually("the breaker is open", func() bool { return f.breakerOpen(r, "FUNNEL") })
	locked := f.series("schedOutbox", "ScheduleAssigned", "locked", 1, 3)
	var refused atomic.Int64
	unlock := f.cloud.embedded.Faults().Add(localfirestore.Fault{
		Method: "Commit", Code: codes.Aborted,
		Match: func(c localfirestore.Call) bool {
			hit := updates("schedOutbox/" + locked[0].ID)(c)
			if hit {
				refused.Add(1)
			}
			return hit
		},
	})
	defer unlock()
	f.append(locked[:1], 1)
	f.eventually("its progress is not written", func() bool { return refused.Load() > 0 })
	f.append(locked[1:], 2)
	others := f.each("schedOutbox", "ScheduleProposed", 10)
	f.append(others, 10)
	f.eventually("what comes for another target goes on", func() bool { return f.unmarked(others, contracts.Delivered) == 0 })
	out.Store(false)
	f.eventually("what waits for the target is brought back", func() bool { return f.unmarked(waiting, contracts.Delivered) == 0 })
	if n := f.unmarked(locked, contracts.Delivered); n != len(locked) {
		t.Errorf("%d of the aggregate are marked, want none while its first is locked", len(locked)-n)
	}
	unlock()
	f.eventually("the aggregate goes on", func() bool { return f.unmarked(locked, contracts.Delivered) == 0 })
	all := slices.Concat(waiting, locked, others)
	if got, want := f.delivered(all), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once at each target and in order", got)
	}
	f.eventually("nothing is left behind", func() bool {
		o := r.outbox("schedOutbox")
		return o.InMemory == 0 && o.LeftBehind == 0
	})
}
