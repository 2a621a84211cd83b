package relay

import (
	"fmt"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// A record over whose submission the program panics is read again, and so are those
// that came with it.
func TestAPanicInASubmissionLeavesNothingInMemory(t *testing.T) {
	r, _ := newTestRelay(t)
	o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
	in := o.intakes[0]
	route := o.spec.Route("ScheduleAssigned")
	var page []*feed.Record
	for i := range 3 {
		id := fmt.Sprint(i)
		e := &entry{
			outbox: o, route: route, lane: route.Lane, tier: route.Tier,
			rec: &contracts.Record{Outbox: "schedOutbox", ID: id, AggregateID: id, AggregateVersion: 1, Status: contracts.Pending},
		}
		if i == 0 {
			e.lane = "NOWHERE" // which has no pool
		}
		e.describe(Doc{ID: id, CreatedAt: at(int64(i + 1))}, in)
		page = append(page, &e.Record)
	}
	err := o.guard.do(partReader, func() error {
		in.take(o, feed.Batch{Feed: in.feed, Records: page, UpTo: page[2].Position()})
		return nil
	})
	if !panicked(err) {
		t.Fatalf("it did not panic: %v", err)
	}
	if cursor, _ := in.start(); o.ledger.size() > 0 || !cursor.Zero() {
		t.Errorf("%d records are in memory, and it is read on from %v", o.ledger.size(), cursor)
	}
}
