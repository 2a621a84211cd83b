package relay_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// Flows of these tests: about as many records as Google's emulators take beside
// three instances.
const flowEvery = 50 * time.Millisecond

// Terms of leases. Where a test waits for one to run out, it is brief, and yet
// leaves a starved machine time to renew: a lease that changes hands unasked has
// records delivered twice. Where none may lapse, it is steady.
const (
	brief  = 6 * time.Second
	steady = 30 * time.Second
)

func TestInstancesShareTheOutboxes(t *testing.T)         { shareTheOutboxes(t, newCloud(t)) }
func TestInstancesShareTheOutboxesOnGoogle(t *testing.T) { shareTheOutboxes(t, onGoogle(t)) }

// Instances join and leave while records flow: the outboxes are spread evenly,
// and each is handed over with nothing lost, repeated or disordered.
func shareTheOutboxes(t *testing.T, c *cloud) {
	f := setup(t, c)
	const term = steady
	a := f.member("a", term, nil)
	f.spread(map[string]int{"a": 6})
	flow := f.flow(f.catalog, flowEvery)
	b := f.member("b", term, nil)
	f.spread(map[string]int{"a": 3, "b": 3})
	flow.on(30)
	third := f.member("c", term, nil)
	f.spread(map[string]int{"a": 2, "b": 2, "c": 2})
	flow.on(30)
	b.stop()
	f.spread(map[string]int{"a": 3, "c": 3})
	flow.on(30)
	b2 := f.member("b", term, nil) // of the same name
	f.spread(map[string]int{"a": 2, "b": 2, "c": 2})
	flow.on(30)

	if got, want := f.delivered(flow.end()), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	for _, m := range []*member{a, b, third, b2} {
		// Google's emulator answers too late at times, as it warms up.
		if n := m.events("lost") + m.events("lapsed"); n > 0 && c.embedded != nil {
			t.Errorf("%s: %d leases were lost or lapsed", m.name, n)
		}
	}
}

// What one target of a record has, and another has not, is written before its
// outbox is handed over: the next owner delivers it to the other alone.
func TestSuccessorKnowsWhatWasDelivered(t *testing.T) {
	f := setup(t, newCloud(t))
	var mended atomic.Bool
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" && !mended.Load() {
			return failure(contracts.Outage, "Unavailable")
		}
		return nil
	})
	f.member("a", 10*time.Second, nil)
	f.spread(map[string]int{"a": 6})
	records := f.series("schedOutbox", "ScheduleAssigned", "handed", 1, 5)
	f.append(records, 5)
	f.eventually("one target has the first", func() bool { return f.arrived("NOTIF_ROUTER") >= 1 })
	f.member("b", 10*time.Second, nil)
	f.member("c", 10*time.Second, nil)
	leases := f.spread(map[string]int{"a": 2, "b": 2, "c": 2})
	if leases["schedOutbox"].Owner == "a" {
		t.Fatal("the outbox was not handed over")
	}
	mended.Store(true)
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once at each target and in order", got)
	}
	f.wantNoAttempts(records)
}

func TestPartitionedOwnerBeginsNothing(t *testing.T) {
	thorough.EndToEnd(t)
	partitionedOwner(t, newCloud(t))
}

func TestPartitionedOwnerBeginsNothingOnGoogle(t *testing.T) { partitionedOwner(t, onGoogle(t)) }

// An owner that cannot reach Firestore, but Pub/Sub, begins no delivery once its
// lease has lapsed: another may have the outbox. That one takes it after the
// term. When the first is back it knows that it lost, and takes part again.
func partitionedOwner(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.tuning.CommitTimeout = time.Second
	const term = brief
	held := newGate("held")
	t.Cleanup(held.release)
	a := f.member("a", term, held.holds)
	f.spread(map[string]int{"a": 6})
	records := f.series("wsOutbox", "TaskCompleted", "held", 1, 20)
	f.append(records[:1], 1)
	f.eventually("the first is in delivery", func() bool { return len(held.passed()) == 1 })
	f.append(records[1:], 5)
	f.eventually("the others are in memory", func() bool { return a.outbox("wsOutbox").InMemory == len(records) })

	a.cutFirestore()
	cut := f.leases()["wsOutbox"]
	f.eventually("the lease has lapsed", func() bool { return a.outbox("wsOutbox").Lease == "lapsed" })
	f.eventually("the instance can do no work", func() bool { return !a.relay.Health().Ready })
	f.member("b", term, nil)
	held.release()
	f.eventually("what was in delivery ends", func() bool { return f.arrived("FUNNEL") >= 1 })
	taken := f.spread(map[string]int{"b": 6})["wsOutbox"]
	f.delivered(records)
	f.eventually("what was in delivery has come twice", func() bool { return f.judge(records).duplicates > 0 })
	if n := len(held.passed()); n != 1 {
		t.Errorf("the instance without a lease began %d deliveries", n-1)
	}
	if idle := untaken(cut, taken); idle < term {
		t.Errorf("the lease was taken %v after its last renewal, want its term of %v at least", idle, term)
	}

	a.mendFirestore()
	f.spread(map[string]int{"a": 3, "b": 3})
	if n := a.events("lost"); n != 7 {
		t.Errorf("%d leases were lost, want those of six outboxes and the queue", n)
	}
	more := f.records("wsOutbox", 20, 4)
	f.append(more, 5)
	if got, want := f.delivered(slices.Concat(records, more)), (judgement{duplicates: 1}); got != want {
		t.Errorf("got %+v, want every record in order, and what was in delivery twice", got)
	}
	f.wantNoAttempts(slices.Concat(records, more))
}

func TestLoneOwnerKeepsItsMemory(t *testing.T) {
	thorough.EndToEnd(t)
	loneOwner(t, newCloud(t))
}

func TestLoneOwnerKeepsItsMemoryOnGoogle(t *testing.T) { loneOwner(t, onGoogle(t)) }

// An instance alone loses Firestore for longer than its term. Nobody took its
// leases, so that it goes on with what it knows: what was delivered and not
// marked is not delivered again.
func loneOwner(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.tuning.CommitTimeout = time.Second
	const term = brief
	held := newGate("held")
	t.Cleanup(held.release)
	a := f.member("a", term, held.holds)
	before := f.spread(map[string]int{"a": 6})
	var records []*contracts.Record
	for n := range 30 {
		records = append(records, f.record("wsOutbox", "TaskCompleted", fmt.Sprint("held-", n), 1))
	}
	f.append(records, 10)
	f.eventually("they are in delivery", func() bool { return len(held.passed()) == len(records) })
	a.cutFirestore()
	held.release()
	f.eventually("they are delivered", func() bool { return f.judge(records).missing == 0 })
	f.eventually("the lease would be another's to take", func() bool { return f.leases()["wsOutbox"].Age > 2*term })
	if n := f.unmarked(records, contracts.Pending); n > 0 {
		t.Fatalf("%d records are marked, want none: the outage came too late", n)
	}
	late := f.series("wsOutbox", "TaskCompleted", "late", 1, 10)
	f.append(late, 10)

	a.mendFirestore()
	if got, want := f.delivered(slices.Concat(records, late)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	for share, l := range f.leases() {
		if !l.Since.Equal(before[share].Since) {
			t.Errorf("%s was taken anew", share)
		}
	}
	if lost, recovered := a.events("lost"), a.events("recovered"); lost > 0 || recovered < 7 {
		t.Errorf("%d leases were lost and %d recovered, want none and seven at least", lost, recovered)
	}
	f.wantNoAttempts(slices.Concat(records, late))
}
