package main

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

// A consumer's lane is paused for its maintenance: its records wait in Firestore,
// other lanes flow, and what waited comes in order when it is resumed.
func TestE2EOperationsPauseForAConsumer(t *testing.T) {
	thorough.Long(t)
	thorough.NotOnGoogle(t)
	_, catalog := variant(t)
	o := openOperation(t, catalog)
	i := o.roll(nil, []string{"relay-1"})[0]
	o.mustAsk(i, "operator", "lanes", "pause", "BACKGROUND_LANE", "--reason", "the tag service is being moved")
	i.stderr.find(t, "(lane paused)") // milliseconds later
	tags, accounts := o.versions(catalog, "tagOutbox", "TagLifecycleEvent", 4), o.versions(catalog, "accOutbox", "AccountCreated", 4)
	o.putEach(60, catalog, tags)
	end := o.produce(flowEvery, catalog, accounts)
	o.flowOn(40)
	end()
	patiently(t, "other lanes flow", testPatience, 20*time.Millisecond, func() bool { return o.tally().Missing == 60 })
	o.mustAsk(i, "viewer", "lanes", "list")
	patiently(t, "the backlog is told", testPatience, 50*time.Millisecond, func() bool { return o.backlog(i)["tagOutbox"] == 60 })
	t.Logf("paused: tagOutbox has %d records waiting, wsOutbox %d", o.backlog(i)["tagOutbox"], o.backlog(i)["wsOutbox"])
	o.mustAsk(i, "operator", "lanes", "resume", "BACKGROUND_LANE", "--reason", "moved")
	o.want(0)
}

// The relay is emptied before a maintenance of everything: the producers stop,
// the backlog goes to nothing, and SIGTERM leaves nothing behind. What is
// appended meanwhile waits for the next instance.
func TestE2EOperationsDrain(t *testing.T) {
	thorough.Long(t)
	thorough.NotOnGoogle(t)
	_, catalog := variant(t)
	o := openOperation(t, catalog)
	running := o.roll(nil, []string{"relay-1", "relay-2"})
	o.spread(map[string]int{"relay-1": 3, "relay-2": 3})
	end := o.flow(2 * flowEvery)
	o.flowOn(150)
	end()
	var backlog map[string]int64
	patiently(t, "the backlog is gone", testPatience, 100*time.Millisecond, func() bool {
		backlog = o.backlog(running[0])
		sum := int64(0)
		for _, n := range o.backlog(running[1]) {
			sum += n
		}
		for _, n := range backlog {
			sum += n
		}
		return sum == 0
	})
	t.Logf("pending, as /admin/v1/outboxes tells: %v", backlog)
	for _, i := range running {
		t.Logf("%s: %s", i.name, memory(t, i))
		i.signal(t, syscall.SIGTERM)
		if code := i.wait(t); code != shell.ExitOK {
			t.Errorf("%s ended with %d", i.name, code)
		}
		t.Logf("%s: exit code 0, %s", i.name, lastMessage(i))
	}
	for name, l := range o.leases() {
		if l.Owner != "" {
			t.Errorf("%s is still %s's", name, l.Owner)
		}
	}
	waiting := 0
	for _, outbox := range catalog.Outboxes {
		waiting += o.waiting(outbox.Name, contracts.Pending) + o.waiting(outbox.Name, contracts.Retrying)
	}
	if waiting > 0 || o.tally().Missing > 0 {
		t.Errorf("%d records wait, %d have not arrived; want none before the maintenance", waiting, o.tally().Missing)
	}
	t.Logf("nobody runs: %d records wait in all outboxes", waiting)

	o.putEach(20, catalog, o.versions(catalog, "accOutbox", "AccountCreated", 4))
	o.start("relay-3")
	o.want(0)
}

// memory tells what an instance holds.
func memory(t *testing.T, i *instance) string {
	t.Helper()
	_, body := fetch(t, i.addr, "/readyz")
	var h relay.Health
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatal(err)
	}
	inMemory, behind := 0, 0
	for _, o := range h.Outboxes {
		inMemory += o.InMemory
		behind += o.LeftBehind
	}
	return fmt.Sprintf("%d records in memory, %d left behind in Firestore", inMemory, behind)
}
