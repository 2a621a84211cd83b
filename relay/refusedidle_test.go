package relay

import (
	"testing"

	"outboxrelay/relay/feed"
)

// A lane may have nothing left of an aggregate by the time that what it refused is
// noted: nobody tells of that any more, and it comes at once.
func TestARefusedRecordComesThoughItsLaneWentIdleBefore(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 0)
	o := e.outbox
	e.Origin = feed.Read
	o.refused(e)
	if n := o.ledger.size(); n != 0 {
		t.Errorf("%d records are in memory, want that it left", n)
	}
	if n := o.intakes[0].leftBehind(); n != 0 {
		t.Errorf("%d records are behind a gate that nobody opens", n)
	}
}
