package relay

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// These are what TestFeedModel comes upon only in some of its runs: each of them
// would have a record overtaken or forgotten.

// gated is a feed with the records of one aggregate, for target A alone.
type gated struct {
	*testing.T
	feed *feed
}

func newGated(t *testing.T) *gated {
	return &gated{t, newFeed(newLedger(), contracts.StandardLane, 10, newMemory(1<<30, 1))}
}

// take has the feed read a record, committed version seconds after the start.
func (g *gated) take(version int64) *entry {
	g.Helper()
	doc := docOf(version, 0)
	doc.CreatedAt = at(1000 * version)
	e := &entry{feed: g.feed, doc: doc, rec: &contracts.Record{AggregateVersion: version}, route: &contracts.EventRoute{Targets: []string{"A"}}}
	e.task.Aggregate = "x"
	_, generation := g.feed.start()
	g.feed.reading(e.position(), generation)
	if got := g.feed.admit(e, generation); got != admitted {
		g.Fatalf("version %d is not admitted: %v", version, got)
	}
	g.feed.read(e.position(), generation)
	return e
}

func (g *gated) wantOpen(e *entry, want ...string) {
	g.Helper()
	if open, _ := g.feed.split(e); !cmp.Equal(open, slices.Clone(want)) {
		g.Errorf("version %d goes to %v, want %v", e.rec.AggregateVersion, open, want)
	}
}

func (g *gated) wantParked(want parking, e *entry, blocked, gated []string, unsaved bool) {
	g.Helper()
	if got := g.feed.park(e, blocked, gated, unsaved); got != want {
		g.Errorf("version %d is parked as %d, want %d", e.rec.AggregateVersion, got, want)
	}
}

func (g *gated) wantAgainFrom(e *entry) {
	g.Helper()
	if cursor, _ := g.feed.start(); cursor.covers(e.position()) || !cursor.before(e.position()) {
		g.Errorf("the feed reads on from %v, want it to read version %d again", cursor, e.rec.AggregateVersion)
	}
}

var targetA = []string{"A"}

func TestAnOlderRecordBecomesTheProbe(t *testing.T) {
	g := newGated(t)
	older, younger := g.take(1), g.take(2)
	g.wantParked(parkHold, younger, targetA, nil, false) // it met the target first
	g.wantOpen(older, "A")
	g.wantOpen(younger)
	g.wantParked(parkHold, older, targetA, nil, false)
	g.wantParked(parkLeave, younger, nil, targetA, false)
	g.feed.openHeld("A", younger)
	g.wantOpen(older, "A")
	if n := g.feed.leftBehind(); n != 1 {
		t.Errorf("%d records are left behind, want 1: the gate is shut", n)
	}
	g.feed.openHeld("A", older)
	g.wantAgainFrom(younger)
}

func TestNoneOvertakesARecordThatIsLeaving(t *testing.T) {
	g := newGated(t)
	probe, older, younger := g.take(1), g.take(2), g.take(3)
	probe.task.Aggregate = "y"
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkSave, older, nil, targetA, true)
	g.feed.openHeld("A", probe) // what was left behind is not written yet
	g.wantOpen(younger)
	g.wantParked(parkRest, younger, nil, targetA, false)
	g.feed.hasLeft(older, at(9000))
	g.wantAgainFrom(older)
	g.wantOpen(younger)
	older = g.take(2)
	g.wantOpen(older, "A")
}

func TestNoneOvertakesWhatLeftForNoGate(t *testing.T) {
	g := newGated(t)
	oldest, older, younger := g.take(1), g.take(2), g.take(3)
	if !g.feed.leaves(older) {
		t.Fatal("it does not leave")
	}
	g.wantOpen(oldest, "A")
	g.wantOpen(younger)
	g.feed.hasLeft(older, at(9000))
	g.wantAgainFrom(older)
	g.wantOpen(younger)
}

func TestNoneOvertakesWhatAGateLeftBehind(t *testing.T) {
	g := newGated(t)
	oldest, older, younger, probe := g.take(1), g.take(2), g.take(3), g.take(4)
	probe.task.Aggregate = "y"
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkLeave, older, nil, targetA, false)
	g.wantParked(parkLeave, oldest, nil, targetA, false)
	g.feed.openHeld("A", probe)
	g.wantAgainFrom(oldest)
	g.wantOpen(younger)
	g.wantParked(parkLeave, younger, nil, targetA, false)
	for version := range int64(3) {
		g.wantOpen(g.take(version+1), "A")
	}
}

// A record that the reader takes for known while it reads past it must not leave
// at that moment.
func TestARecordRestsWhileTheReaderIsAtIt(t *testing.T) {
	g := newGated(t)
	probe, older, younger := g.take(1), g.take(2), g.take(3)
	probe.task.Aggregate = "y"
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkLeave, older, nil, targetA, false)
	g.feed.openHeld("A", probe)
	_, generation := g.feed.start()
	g.feed.reading(younger.position(), generation)
	g.wantOpen(younger)
	g.wantParked(parkRest, younger, nil, targetA, false)
	g.feed.read(younger.position(), generation)
	g.wantOpen(younger, "A")
}

// The probe that goes another way leaves the gate open behind it, or nobody would
// ever open it.
func TestAProbeThatIsGoneOpensItsGate(t *testing.T) {
	g := newGated(t)
	probe, other := g.take(1), g.take(2)
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkLeave, other, nil, targetA, false)
	g.feed.ledger.remove(probe, at(9000))
	g.wantAgainFrom(other)
	g.wantOpen(g.take(2), "A")
}

// A record that leaves its lane without a freeze, as a hold that is given up does,
// is read again at once: not only by the sweep.
func TestWhatLeavesItsLaneIsReadAgain(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 0)
	e.doc.CreatedAt = at(1000)
	e.feed.read(Position{At: at(2000), ID: "later"}, 0)
	e.outbox.leave(e)
	if cursor, _ := e.feed.start(); cursor.covers(e.position()) || e.outbox.ledger.size() != 0 {
		t.Errorf("the feed reads on from %v with %d records in memory, want it to read the record again", cursor, e.outbox.ledger.size())
	}
}
