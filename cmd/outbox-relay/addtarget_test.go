package main

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// mailed is the default catalog with one more target for ScheduleAssigned, and
// with a patience that leaves a record in backoff for a while.
func mailed(t *testing.T) (before, after string, plain, with *contracts.Catalog) {
	slow := []string{"initial: 500ms", "initial: 8s", "max: 10s", "max: 8s"}
	before, plain = variant(t, slow...)
	after, with = variant(t, append(slow,
		"  AUDIT_COLLECTOR:", "  MAILER: {kind: pubsub, topic: ier-mailer}\n  AUDIT_COLLECTOR:",
		"targets: [NOTIF_ROUTER, FUNNEL], schema", "targets: [NOTIF_ROUTER, FUNNEL, MAILER], schema",
	)...)
	return before, after, plain, with
}

// A target is added to an event while records are in flight: what is delivered
// stays as it is, what is in backoff and what comes goes to the new target too,
// and a dead letter goes to the targets that it lacked when it died.
func TestE2EOperationsAddTarget(t *testing.T) {
	thorough.Long(t)
	thorough.NotOnGoogle(t)
	before, after, plain, with := mailed(t)
	o := openOperation(t, plain)
	broker := startBrokerProxy(t, o.at.PubSub)
	old := o.start("old-1", "CATALOG="+before, gcp.EnvPubSub+"="+broker.addr)

	one := o.versions(plain, "schedOutbox", "ScheduleAssigned", 1)
	delivered := one(0)
	o.put(t.Context(), plain, delivered)
	o.arrive()

	// Its attempts fail until it is dead; another is left in its backoff.
	dying, retrying := o.alone(plain, "dying"), o.alone(with, "retrying")
	broker.refuse(dying.AggregateID, retrying.AggregateID)
	o.put(t.Context(), plain, dying)
	patiently(t, "it is a dead letter", testPatience, 20*time.Millisecond, func() bool { return o.dead() == 1 })
	o.put(t.Context(), with, retrying)
	eventually(t, "the other is in backoff", func() bool { return o.waiting("schedOutbox", contracts.Retrying) == 1 })
	old.signal(t, syscall.SIGTERM)
	old.wait(t)
	broker.accept()

	// The topic and its subscription stand before anybody publishes to it.
	o.subscribe("ier-mailer")
	next := o.start("new-1", "CATALOG="+after, gcp.EnvPubSub+"="+broker.addr)
	o.spread(map[string]int{"new-1": 6})
	later := o.alone(with, "later")
	o.put(t.Context(), with, later)
	id := dlq.ID(dying.IdempotencyKey)
	o.mustAsk(next, "operator", "dlq", "replay", id, "--wait", "--reason", "the consumer is mended")
	o.arrive()

	all := map[string]int{"NOTIF_ROUTER": 1, "FUNNEL": 1, "MAILER": 1}
	was := map[string]int{"NOTIF_ROUTER": 1, "FUNNEL": 1}
	for _, c := range []struct {
		what string
		rec  *contracts.Record
		want map[string]int
	}{{"delivered before", delivered, was}, {"dead before, replayed after", dying, was}, {"in backoff at the change", retrying, all}, {"appended after", later, all}} {
		got := o.got(c.rec)
		t.Logf("%s: %v", c.what, got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	o.want(1)
}

// A target whose topic is missing is an outage: records wait for it, and go to
// the others meanwhile; no attempt is counted, and they flow when it is there.
func TestE2EOperationsAddTargetBeforeItsTopic(t *testing.T) {
	thorough.Long(t)
	thorough.NotOnGoogle(t)
	_, after, plain, with := mailed(t)
	o := openOperation(t, plain)
	env := maps.Clone(o.env)
	env["CATALOG"], env["INSTANCE"] = after, "hasty"
	args := slices.DeleteFunc(slices.Clone(serveArgs), func(arg string) bool { return arg == "--ensure-topics" })
	i := &instance{child: startChild(t, env, args...), t: t, name: "hasty"}
	i.addr = i.stderr.find(t, servingAddr)
	o.spread(map[string]int{"hasty": 6})
	o.putEach(40, with, o.versions(with, "schedOutbox", "ScheduleAssigned", 4))
	patiently(t, "the other targets have them", testPatience, 20*time.Millisecond, func() bool { return o.tally().Messages >= 80 })
	if n := o.waiting("schedOutbox", contracts.Pending); n != 40 || o.dead() > 0 {
		t.Errorf("%d of 40 records wait, %d dead letters", n, o.dead())
	}
	t.Logf("without the topic: %d records wait, %d dead letters, breaker of MAILER %s", o.waiting("schedOutbox", contracts.Pending), o.dead(), i.metric(`relay_breaker_state{target="MAILER"}`))
	o.subscribe("ier-mailer")
	o.want(0)
}

// alone makes the first version of an aggregate of its own.
func (o *operation) alone(by *contracts.Catalog, name string) *contracts.Record {
	return sampleOf(by, o.random, "schedOutbox", "ScheduleAssigned", fmt.Sprintf("%s-%x", name, o.seen), 1)
}
