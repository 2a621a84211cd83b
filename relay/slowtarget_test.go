package relay_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"outboxrelay/contracts"
)

// A target that takes its time, for more records than the lane has workers, holds up no
// other target of the lane.
func TestASlowTargetHoldsUpNoOther(t *testing.T) { slowTarget(t, newCloud(t), (*fixture).rolesAlone) }

func TestASlowTargetHoldsUpNoOtherOnGoogle(t *testing.T) {
	slowTarget(t, onGoogle(t), (*fixture).rolesAlone)
}

// Nor where its records come behind others of their aggregates, which do not need it.
func TestASlowTargetBehindAnotherHoldsUpNoOther(t *testing.T) {
	slowTarget(t, newCloud(t), (*fixture).rolesBehindWallets)
}

func TestASlowTargetBehindAnotherHoldsUpNoOtherOnGoogle(t *testing.T) {
	slowTarget(t, onGoogle(t), (*fixture).rolesBehindWallets)
}

// rolesAlone makes records for CLAIMS_HANDLER, each of an aggregate of its own.
func (f *fixture) rolesAlone(n int) (all, slow []*contracts.Record) {
	slow = f.each("accOutbox", "RoleChanged", n)
	return slow, slow
}

// rolesBehindWallets makes such records, each with one for another target before it.
func (f *fixture) rolesBehindWallets(n int) (all, slow []*contracts.Record) {
	for i := range n {
		id := fmt.Sprint("mixed-", i)
		slow = append(slow, f.record("accOutbox", "RoleChanged", id, 2))
		all = append(all, f.record("accOutbox", "WalletDeducted", id, 1), slow[i])
	}
	return all, slow
}

func slowTarget(t *testing.T, where *cloud, records func(*fixture, int) (all, slow []*contracts.Record)) {
	f := setup(t, where)
	var asked atomic.Int64
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "CLAIMS_HANDLER" {
			asked.Add(1)
			<-answer
		}
		return nil
	})
	workers := f.catalog.Lanes[contracts.CriticalLane].Workers
	all, slow := records(f, 2*workers)
	f.append(all, 50)
	r := f.run()
	f.eventually("the slow target has its workers", func() bool { return asked.Load() >= int64(workers*3/4) })
	quick := f.each("accOutbox", "WalletCredited", 100)
	f.append(quick, 50)
	all = append(all, quick...)
	f.eventually("those for another target are marked", func() bool { return f.unmarked(quick, contracts.Delivered) == 0 })
	f.eventually("all of the slow target are in the lane", func() bool { return r.inMemory() >= len(slow) })
	if n := f.unmarked(slow, contracts.Delivered); n != len(slow) {
		t.Errorf("%d are marked that were not answered", len(slow)-n)
	}
	if n := r.gauge("relay_target_workers", "lane", "CRITICAL_LANE", "target", "CLAIMS_HANDLER"); n != float64(workers*3/4) {
		t.Errorf("the gauge tells of %v workers for the slow target, want %d", n, workers*3/4)
	}
	release()
	f.eventually("all are marked", func() bool { return f.unmarked(all, contracts.Delivered) == 0 })
	if got, want := f.delivered(all), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}
