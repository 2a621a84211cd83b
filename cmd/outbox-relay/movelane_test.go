package main

import (
	"syscall"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// moved turns the default catalog into one with events in other lanes: one into a
// lane that its outbox has, and both of an outbox, so that this has nothing left
// in the old.
var moved = []string{
	"{type: WalletCredited, lane: CRITICAL_LANE", "{type: WalletCredited, lane: STANDARD_LANE",
	"{type: SkillXpAdded, lane: STANDARD_LANE", "{type: SkillXpAdded, lane: CRITICAL_LANE",
	"{type: SkillXpDeducted, lane: STANDARD_LANE", "{type: SkillXpDeducted, lane: CRITICAL_LANE",
}

// whileMoved takes steps while the events that move flow, in the lanes that the
// producers' catalog says, and waits until all of it has arrived.
func (o *operation) whileMoved(by *contracts.Catalog, from int, steps func()) {
	o.t.Helper()
	var ends []func()
	for _, e := range [][2]string{{"accOutbox", "WalletCredited"}, {"skillOutbox", "SkillXpAdded"}} {
		next := o.versions(by, e[0], e[1], 3)
		ends = append(ends, o.produce(flowEvery, by, func(n int) *contracts.Record { return next(n + from) }))
	}
	steps()
	inTurn(ends)()
	o.arrive()
}

// An event moves to another lane, under load: the catalog first, with the records
// of the old lane in flight; then, when nothing of the outbox waits, the
// producers; and all of it back. No aggregate's order suffers.
func TestE2EOperationsMoveLane(t *testing.T) {
	thorough.Long(t)
	o := openChange(t, moved...)
	running := o.roll(nil, []string{"old-1", "old-2"})
	o.whileMoved(o.before, 0, func() {
		o.flowOn(60)
		running = o.roll(running, []string{"moved-1", "moved-2"}, o.changed)
		o.flowOn(100)
	})
	lane := o.lanesOf("WalletCredited")
	t.Logf("the catalog has moved, the producers write the old lane: %s", disagreements(t, running))

	const far = 30_000 // versions go on from here
	o.whileMoved(o.after, far, func() { o.flowOn(100) })
	t.Logf("lanes in which WalletCredited was delivered: %v, then %v", lane, o.lanesOf("WalletCredited"))

	// Back: the catalog first again.
	o.whileMoved(o.after, 2*far, func() {
		o.flowOn(40)
		o.roll(running, []string{"back-1", "back-2"})
		o.flowOn(100)
	})
	o.whileMoved(o.before, 3*far, func() { o.flowOn(60) })
	o.want(0)
}

// A lane that is left altogether, with a backlog in it: it is read all the same, in
// order.
func TestE2EOperationsMoveLaneWithABacklog(t *testing.T) {
	thorough.Long(t)
	o := openChange(t, moved...)
	o.putEach(900, o.before, o.versions(o.before, "skillOutbox", "SkillXpAdded", 20)) // nobody runs
	o.roll(nil, []string{"moved-1"}, o.changed)
	o.want(0)
}

// Producers that move before what they wrote to the old lane is delivered: two
// readers bring one aggregate's records, and its order is not kept. This is why
// the procedure waits; nothing is lost all the same.
func TestE2EOperationsMoveLaneTooEarly(t *testing.T) {
	thorough.Long(t)
	o := openChange(t, moved...)
	const backlog, newest = 500, 100 // in the old lane, and in the new one
	writes := o.versions(o.after, "accOutbox", "WalletCredited", 20)
	o.putEach(backlog, o.before, o.versions(o.before, "accOutbox", "WalletCredited", 20))
	o.putEach(newest, o.after, func(n int) *contracts.Record { return writes(backlog + n) })
	o.roll(nil, []string{"moved-1"}, o.changed)
	got := o.arrive()
	t.Logf("%d records of a backlog over two lanes: %d lost, %d delivered twice, %d out of order", got.Records, got.Missing, got.Duplicates, got.Disordered)
	if got.Duplicates > 0 || o.dead() > 0 {
		t.Errorf("%d delivered twice, %d dead letters; want none", got.Duplicates, o.dead())
	}
}

// An event's tier changes: what dies from then on has the new tier, whatever its
// record says; what was dead keeps its own.
func TestE2EOperationsMoveTier(t *testing.T) {
	thorough.EndToEnd(t)
	thorough.NotOnGoogle(t)
	c := openClinic(t)
	aggregate, other := c.aggregate("before"), c.aggregate("after")
	first := c.serve()
	id := c.dead(contracts.ReviewRequired, aggregate, 1) // WalletDeducted
	first.signal(t, syscall.SIGTERM)
	first.wait(t)
	c.env["CATALOG"] = edited(t, c.env["CATALOG"], "{type: WalletDeducted, lane: CRITICAL_LANE, tier: REVIEW_REQUIRED", "{type: WalletDeducted, lane: CRITICAL_LANE, tier: SAFE_AUTO")
	c.serve()
	moved := c.dead(contracts.ReviewRequired, other, 1) // its record still says REVIEW_REQUIRED
	was, is := c.item(id), c.item(moved)
	t.Logf("dead before: %s, %s; dead after: %s of original tier %s", was.Tier, was.State, is.Tier, is.OriginalTier)
	if was.Tier != contracts.ReviewRequired || is.OriginalTier != contracts.SafeAuto {
		t.Errorf("tiers %s and %s", was.Tier, is.OriginalTier)
	}
	c.broker.accept()
	eventually(t, "the new one is replayed by itself", func() bool {
		i := c.item(moved)
		return i.State == contracts.DeadReplayed || i.Tier == contracts.ReviewRequired // after five replays in vain
	})
	if i := c.item(id); i.State != contracts.DeadAwaitingReview {
		t.Errorf("the old one is %s, want it to wait for an operator", i.State)
	}
	c.mustDLQ("operator", "replay", id, "--wait", "--reason", "the consumer is mended")
	eventually(t, "it has arrived", func() bool { return len(c.of(aggregate)) > 0 })
}

// disagreements are the counts of records whose lane is not the catalog's.
func disagreements(t *testing.T, running []*instance) string {
	t.Helper()
	for _, i := range running {
		if n := i.metric(`relay_catalog_disagreements_total{field="lane",outbox="skillOutbox"}`); n != "" && n != "0" {
			return i.name + " counts " + n + " of skillOutbox"
		}
	}
	return "none was counted"
}
