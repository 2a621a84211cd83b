package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

// flowEvery is the pause between two records of an outbox: about as many in all
// as Google's emulators take beside two instances.
const flowEvery = 25 * time.Millisecond

// A new instance comes up, then the old one is told to stop, while records flow
// into every outbox: each is handed over by a release, and nothing is lost,
// repeated or disordered.
func TestE2ERollingDeploy(t *testing.T) {
	thorough.EndToEnd(t)
	const term = 90 * time.Second
	f := openFleet(t, term)
	before := f.start("before")
	f.spread(map[string]int{"before": 6})
	end := f.flow(flowEvery)
	eventually(t, "records flow", func() bool { return f.tally().Records-f.tally().Missing > 100 })

	joins := time.Now()
	after := f.start("after")
	f.spread(map[string]int{"before": 3, "after": 3})
	f.flowOn(200)
	leaves := time.Now()
	if lost, lapsed := before.leaseEvents("lost"), before.leaseEvents("lapsed"); lost+lapsed > 0 {
		t.Errorf("the old instance lost %d leases, and %d lapsed", lost, lapsed)
	}
	before.signal(t, syscall.SIGTERM)
	f.spread(map[string]int{"after": 6})
	if code := before.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d", code)
	}
	f.flowOn(200)
	ended := time.Now()
	end()

	got := f.arrive()
	if got.Duplicates+got.Disordered+got.Strays+got.Replays > 0 {
		t.Errorf("got %+v, want every record once and in order; out of order: %v", got, f.disorder())
	}
	taken := after.logged("lease taken")
	for _, l := range taken {
		if l["from"] != "" {
			t.Errorf("the lease of %v ran out at %v, want it released", l["share"], l["from"])
		}
	}
	if released := len(before.logged("lease released")); released != len(taken) || released != 7 {
		t.Errorf("%d leases were released and %d taken, want 7: six outboxes' and the queue's", released, len(taken))
	}
	if lost, lapsed := after.leaseEvents("lost"), after.leaseEvents("lapsed"); lost+lapsed > 0 {
		t.Errorf("the new instance lost %d leases, and %d lapsed", lost, lapsed)
	}
	join, leave := f.waits(joins, leaves), f.waits(leaves, ended)
	t.Logf("%d records; longest from append to arrival while the new one joins: %v %v", got.Records, longest(join), join)
	t.Logf("longest from append to arrival while the old one leaves: %v %v", longest(leave), leave)
	// A lease that runs out was renewed a third of its term ago at most. What else
	// holds an outbox up, such as a listener gone silent, is over sooner.
	if stall := max(longest(join), longest(leave)); stall > term*2/3 {
		t.Errorf("an outbox stood still for %v: not handed over, but waited for a lease of %v to run out", stall, term)
	}
}

// One of two instances is killed under load: the other takes its outboxes when
// the leases have run out by the server's clock, not before, and what is
// delivered twice had been in flight.
func TestE2ECrashIsTakenOver(t *testing.T) {
	thorough.EndToEnd(t)
	const term = 6 * time.Second
	f := openFleet(t, term)
	victim := f.start("victim")
	f.spread(map[string]int{"victim": 6})
	f.start("heir")
	f.spread(map[string]int{"victim": 3, "heir": 3})
	end := f.flow(flowEvery)
	f.flowOn(200)

	victim.signal(t, syscall.SIGKILL)
	victim.wait(t)
	killed := f.leases()
	its := killed.Of("victim")
	unmarked := f.unmarked(its)
	taken := f.spread(map[string]int{"heir": 6})
	f.flowOn(200)
	end()

	got := f.inOrder()
	for _, key := range f.repeated() {
		if !unmarked[key] {
			t.Errorf("%s was delivered again though it had been marked", key)
		}
	}
	if len(its) != 3 {
		t.Errorf("the victim owned %v, want three outboxes", its)
	}
	for _, outbox := range its {
		idle := taken[outbox].Since.Sub(killed[outbox].Updated)
		t.Logf("%s: taken %v after its last renewal, of a term of %v", outbox, idle, term)
		if idle < term {
			t.Errorf("%s was taken %v after its last renewal, want its term of %v and little more", outbox, idle, term)
		}
	}
	t.Logf("%d records, %d delivered twice, %d had been in flight or waiting at most", got.Records, got.Duplicates, len(unmarked))
}

// inOrder waits until everything has arrived, and judges it where a machine
// failed: some may come twice, all in order, and none by way of a dead letter.
func (f *fleet) inOrder() tally {
	f.t.Helper()
	got := f.arrive()
	if got.Disordered+got.Strays+got.Replays > 0 {
		f.t.Errorf("got %+v, want every record, first arrivals in order; out of order: %v", got, f.disorder())
	}
	return got
}

// unmarked are the records of outboxes that are not marked as delivered, by
// idempotency key.
func (f *fleet) unmarked(outboxes []string) map[string]bool {
	f.t.Helper()
	out := make(map[string]bool)
	for _, name := range outboxes {
		docs, err := f.docs.Collection(name).Where(contracts.FieldStatus, "==", string(contracts.Pending)).Documents(f.t.Context()).GetAll()
		if err != nil {
			f.t.Fatal(err)
		}
		for _, d := range docs {
			if key, ok := d.Data()[contracts.FieldIdempotencyKey].(string); ok {
				out[key] = true
			}
		}
	}
	return out
}

// An instance that is stopped for longer than its leases stand, and then goes on
// as if nothing had been, begins no delivery: what it has in memory is another's
// by now. It takes part again.
func TestE2ESuspendedInstanceBeginsNothing(t *testing.T) {
	thorough.EndToEnd(t)
	f := openFleet(t, 6*time.Second)
	broker := startBrokerProxy(t, f.at.PubSub) // sleeper's alone
	sleeper := f.start("sleeper", gcp.EnvPubSub+"="+broker.addr)
	f.spread(map[string]int{"sleeper": 6})
	f.start("other")
	its := f.spread(map[string]int{"sleeper": 3, "other": 3}).Of("sleeper")

	// One record is in delivery, and those behind it are in memory.
	const behind = 10
	outbox := f.catalog.Outbox(its[0])
	aggregate := fmt.Sprintf("suspended-%x", f.random.Uint64())
	resume := broker.hang(aggregate)
	series := f.series(outbox, aggregate, behind+1)
	f.put(t.Context(), f.catalog, series[0])
	eventually(t, "the first is in delivery", func() bool { return broker.met(aggregate) > 0 })
	for _, rec := range series[1:] {
		f.put(t.Context(), f.catalog, rec)
	}
	eventually(t, "the others are in memory", func() bool { return sleeper.inMemory(outbox.Name) > behind })
	end := f.flow(2 * flowEvery)
	f.flowOn(50)

	sleeper.suspend(t)
	resume() // its answer waits for it
	f.spread(map[string]int{"other": 6})
	f.flowOn(100)
	eventually(t, "the other has delivered them", func() bool { return f.arrivedAll(series) })
	slept := broker.met(aggregate)
	sleeper.signal(t, syscall.SIGCONT)
	f.spread(map[string]int{"sleeper": 3, "other": 3})
	f.flowOn(100)
	end()

	// More than one, where its request was out of time before it slept.
	if n := broker.met(aggregate); n != slept {
		t.Errorf("%d messages of %s were sent by the instance that slept, %d of them before; want no more", n, aggregate, slept)
	}
	if n := sleeper.leaseEvents("lost"); n < 3 {
		t.Errorf("it lost %d leases, want those of its three outboxes", n)
	}
	got := f.inOrder()
	t.Logf("%d records, %d delivered twice", got.Records, got.Duplicates)
}

// series makes versions 1 to n of an aggregate, of one event type.
func (f *fleet) series(o *contracts.Outbox, aggregate string, n int64) []*contracts.Record {
	var out []*contracts.Record
	for v := range n {
		out = append(out, sampleOf(f.catalog, f.random, o.Name, o.Events[0].Type, aggregate, v+1))
	}
	return out
}

// inMemory is how many records of an outbox an instance holds.
func (i *instance) inMemory(outbox string) int {
	var h relay.Health
	if _, body := fetch(i.t, i.addr, "/readyz"); json.Unmarshal([]byte(body), &h) != nil {
		return 0
	}
	n := slices.IndexFunc(h.Outboxes, func(o relay.OutboxHealth) bool { return o.Outbox == outbox })
	if n < 0 {
		return 0
	}
	return h.Outboxes[n].InMemory
}
