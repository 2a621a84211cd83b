package relay_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"outboxrelay/contracts"
)

// A target that takes its time, for more records than the lane has workers, holds up no
// other target of the lane.
func TestASlowTargetHoldsUpNoOther(t *testing.T) {
	f := setup(t, newCloud(t))
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "CLAIMS_HANDLER" {
			<-answer
		}
		return nil
	})
	r := f.run()
	slow := f.each("accOutbox", "RoleChanged", 2*f.catalog.Lanes[contracts.CriticalLane].Workers)
	f.append(slow, 50)
	f.eventually("all are in the lane", func() bool { return r.inMemory() == len(slow) })
	quick := f.each("accOutbox", "WalletDeducted", 100)
	f.append(quick, 50)
	f.eventually("those for another target are marked", func() bool { return f.unmarked(quick, contracts.Delivered) == 0 })
	if n := f.unmarked(slow, contracts.Delivered); n != len(slow) {
		t.Errorf("%d are marked that were not answered", len(slow)-n)
	}
	policy := f.catalog.Lanes[contracts.CriticalLane]
	if n := r.gauge("relay_target_workers", "lane", "CRITICAL_LANE", "target", "CLAIMS_HANDLER"); n != float64(policy.Workers*3/4) {
		t.Errorf("the gauge tells of %v workers for the slow target, want %d", n, policy.Workers*3/4)
	}
	release()
	f.eventually("the slow ones are marked", func() bool { return f.unmarked(slow, contracts.Delivered) == 0 })
	if got, want := f.delivered(slices.Concat(slow, quick)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}
