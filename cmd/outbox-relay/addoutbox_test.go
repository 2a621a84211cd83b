package main

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// billed turns the default catalog into one with one more outbox, target and
// topic.
var billed = []string{
	"  AUDIT_COLLECTOR:", "  BILLING: {kind: pubsub, topic: ier-billing}\n  AUDIT_COLLECTOR:",
	"  - name: schedOutbox", "  - name: billOutbox\n    slice: VS7 billing\n    events:\n      - {type: InvoiceIssued, lane: STANDARD_LANE, tier: REVIEW_REQUIRED, targets: [BILLING]}\n\n  - name: schedOutbox",
}

// An outbox is added under load: its records wait until an instance knows it,
// instances of both catalogs share the rest in peace, and nobody who does not
// know the new outbox takes it.
func TestE2EOperationsAddOutbox(t *testing.T) {
	thorough.Long(t)
	o := openChange(t, billed...)
	o.allowIndexesOf(o.after)
	old := o.roll(nil, []string{"old-1", "old-2"})
	o.spread(map[string]int{"old-1": 3, "old-2": 3})
	end := o.flow(3 * flowEvery)
	invoices := o.versions(o.after, "billOutbox", "InvoiceIssued", 4)

	// Producers that are too early lose nothing.
	o.putUnknown(20, invoices)
	t.Logf("only the old catalog runs: %d records of billOutbox wait, %d dead letters", o.waiting("billOutbox", contracts.Pending), o.dead())

	o.subscribe("ier-billing")
	first := o.start("new-1", o.changed)
	eventually(t, "the new outbox is taken", func() bool { return o.leases()["billOutbox"].Owner == "new-1" })
	o.arriveFrom("billOutbox")
	shared := o.steady()
	t.Logf("both catalogs run: %v", o.leases().Spread())
	o.flowOn(100)
	if diff := cmp.Diff(shared, o.steady()); diff != "" {
		t.Errorf("shares moved while nobody came or went:\n%s", diff)
	}

	// The only one who knows it leaves: the others do not touch it.
	first.signal(t, syscall.SIGTERM)
	first.wait(t)
	o.spread(map[string]int{"old-1": 3, "old-2": 3, "": 1})
	o.putUnknown(10, func(n int) *contracts.Record { return invoices(20 + n) })
	t.Logf("only the old catalog runs again: billOutbox is free, %d records wait", o.waiting("billOutbox", contracts.Pending))

	next := o.roll(old, []string{"new-2", "new-3"}, o.changed)
	o.flowOn(100)
	end()
	t.Logf("rolled out: %v", o.leases().Spread())
	for _, i := range slices.Concat(old, next) {
		if i.cmd.ProcessState == nil && i.leaseEvents("lapsed")+i.leaseEvents("lost") > 0 {
			t.Errorf("%s lost leases", i.name)
		}
	}
	o.want(0)
}

// putUnknown appends records to an outbox that no instance knows, and wants them
// to wait there while messages of other outboxes flow on.
func (o *change) putUnknown(n int, next func(n int) *contracts.Record) {
	o.t.Helper()
	const others = 60
	o.putEach(n, o.after, next)
	from := o.tally().Messages
	patiently(o.t, "messages flow on", testPatience, 20*time.Millisecond, func() bool { return o.tally().Messages >= from+others })
	if got := o.waiting("billOutbox", contracts.Pending); got != n {
		o.t.Errorf("%d of %d records wait in an outbox that no instance knows", got, n)
	}
}

// arriveFrom waits until nothing of an outbox is waiting.
func (o *operation) arriveFrom(outbox string) {
	o.t.Helper()
	patiently(o.t, "nothing of "+outbox+" waits", testPatience, 20*time.Millisecond, func() bool { return o.waiting(outbox, contracts.Pending) == 0 })
}

// steady is who owns what, since when, once each share's owner is the same twice
// in a row.
func (o *operation) steady() map[string]string {
	o.t.Helper()
	look := func() map[string]string {
		out := make(map[string]string)
		for share, l := range o.leases() {
			out[share] = l.Owner + " since " + l.Since.Format(time.RFC3339Nano)
		}
		return out
	}
	was := look()
	patiently(o.t, "the shares are spread", testPatience, 1500*time.Millisecond, func() bool {
		is := look()
		same := cmp.Equal(was, is)
		was = is
		return same
	})
	return was
}
