package relay_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
)

// What the relay costs on Firestore, in the operations that the embedded one
// counts as Firestore bills them. Each test has an upper bound for each record,
// or for each time that something happens, and leaves room for less than double.
// None depends on how fast the machine is: what comes with time is made rare,
// windows are wide enough for what is under way, and waiting reads no document.

// billed sets up a relay of which nothing costs anything with time.
func billed(t *testing.T) *fixture {
	t.Helper()
	f := setup(t, newCloud(t))
	f.tuning.CanaryInterval, f.tuning.SweepInterval, f.tuning.SweepAge = time.Hour, time.Hour, time.Hour
	f.tuning.SilenceBound = usualPatience // no listener is rebuilt because the machine stands still
	return f
}

// bill is what was billed for an outbox while work ran.
func (f *fixture) bill(outbox string, work func()) localfirestore.Operations {
	f.t.Helper()
	before := f.cloud.embedded.Billing().Collections[outbox]
	work()
	after := f.cloud.embedded.Billing().Collections[outbox]
	return localfirestore.Operations{Reads: after.Reads - before.Reads, Writes: after.Writes - before.Writes, Deletes: after.Deletes - before.Deletes}
}

// atMost fails the test if more was billed than the bound.
func atMost(t *testing.T, what string, bill, bound localfirestore.Operations) {
	t.Helper()
	t.Logf("%s: billed %d reads, %d writes, %d deletes; at most %d, %d, %d", what, bill.Reads, bill.Writes, bill.Deletes, bound.Reads, bound.Writes, bound.Deletes)
	if bill.Reads > bound.Reads || bill.Writes > bound.Writes || bill.Deletes > bound.Deletes {
		t.Errorf("%s: more was billed than that", what)
	}
}

// startOf is what a relay's start costs for an outbox beside its records: queries
// that find nothing, and the canaries of listeners. One listens at a backlog's end
// until all is marked that was there, and at the lane's head then: both may read
// what is still under way, and read it once more as it leaves marked.
func (f *fixture) startOf(outbox string) localfirestore.Operations {
	lanes := int64(len(f.catalog.Outbox(outbox).Lanes()))
	canaries := 2*lanes + 1
	return localfirestore.Operations{Reads: 1 + 2*lanes + 2*canaries + lanes*2*(narrowWindow/5+oldCommit), Writes: canaries}
}

// narrowWindow is the limit of listeners where pages are to read a backlog to its
// end, and oldCommit how many of its records were appended at once.
const narrowWindow, oldCommit = 25, 5

// settled waits until the relay has delivered that many records since it began,
// and their marks are written. It reads nothing.
func (r *running) settled(n int) {
	r.f.t.Helper()
	r.f.eventually("records are delivered and settled", func() bool {
		return r.delivered() >= n && r.inMemory() == 0
	})
}

// listens has the relay deliver records of wsOutbox's lanes one by one until it reads no
// page for them, and returns how many: what each stream tells first is completed by pages,
// and on a busy machine pages may bring the first records while it opens.
func (r *running) listens() (n int) {
	r.f.t.Helper()
	r.alive()
	pages := func() float64 { return r.metric("relay_pages_total", "outbox", "wsOutbox") }
	for read := true; read; {
		before := pages()
		for _, eventType := range []string{"TaskCompleted", "AuditEvent"} {
			n++
			r.f.append(r.f.series("wsOutbox", eventType, fmt.Sprint("first-", n), 1, 1), 1)
		}
		r.settled(n)
		read = pages() > before
	}
	return n
}

// delivered counts the records that the relay delivered.
func (r *running) delivered() (n int) {
	for _, l := range r.relay.Health().Lanes {
		n += int(l.Delivered)
	}
	return n
}

// backlog appends records as a producer did an hour ago: no page leaves them to a
// listener because they are too new.
func (f *fixture) backlog(records []*contracts.Record) { f.appendOld(records, oldCommit) }

// appendOld is backlog with so many records to a commit.
func (f *fixture) appendOld(records []*contracts.Record, perCommit int) {
	f.t.Helper()
	at := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	for chunk := range slices.Chunk(records, perCommit) {
		f.appendAtOnce(chunk, at)
		at = at.Add(time.Millisecond)
	}
}

// plus adds up bills.
func plus(a, b localfirestore.Operations) localfirestore.Operations {
	return localfirestore.Operations{Reads: a.Reads + b.Reads, Writes: a.Writes + b.Writes, Deletes: a.Deletes + b.Deletes}
}

// times is what n of something cost.
func times(each localfirestore.Operations, n int) localfirestore.Operations {
	return localfirestore.Operations{Reads: each.Reads * int64(n), Writes: each.Writes * int64(n), Deletes: each.Deletes * int64(n)}
}
