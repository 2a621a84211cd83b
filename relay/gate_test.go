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

// record is one that was committed version seconds after the start.
func (g *gated) record(version int64) *entry {
	doc := docOf(version, 0)
	doc.CreatedAt = at(1000 * version)
	e := &entry{feed: g.feed, doc: doc, rec: &contracts.Record{AggregateVersion: version}, route: &contracts.EventRoute{Targets: []string{"A"}}}
	e.doc.UpdateTime = at(10_000) // after whatever is written
	e.task.Aggregate = "x"
	return e
}

// take has the feed read a record.
func (g *gated) take(version int64) *entry {
	g.Helper()
	e := g.record(version)
	_, generation := g.feed.start()
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

// bringBack has the gate of target A bring those versions back, the last of what
// was left there among them.
func (g *gated) bringBack(versions ...int64) []*entry {
	g.Helper()
	gate := g.feed.nextDrain()
	if gate == nil {
		g.Fatal("nothing is to be brought back")
	}
	after, last, _ := g.feed.beginDrain(gate)
	var brought []*entry
	for _, version := range versions {
		e := g.record(version)
		if p := e.position(); !after.before(p) || last.before(p) {
			g.Errorf("version %d is at %v, and brought back is what is after %v up to %v", version, p, after, last)
		}
		if got := g.feed.admitBack(e, gate); got != admitted {
			g.Fatalf("version %d is not brought back: %v", version, got)
		}
		brought = append(brought, e)
	}
	g.feed.endDrain(gate, last)
	return brought
}

// wantFree wants no gate before any record.
func (g *gated) wantFree() {
	g.Helper()
	if len(g.feed.gates) > 0 {
		g.Errorf("gates stand: %v", g.feed.gates)
	}
}

var targetA = []string{"A"}

func TestAnOlderRecordBecomesTheProbe(t *testing.T) {
	g := newGated(t)
	older, younger, third := g.take(1), g.take(2), g.take(3)
	g.wantParked(parkHold, younger, targetA, nil, false) // it met the target first
	g.wantOpen(older, "A")
	g.wantOpen(third)
	g.wantParked(parkHold, older, targetA, nil, false)
	g.wantParked(parkLeave, third, nil, targetA, false)
	if n := g.feed.leftBehind(); n != 1 {
		t.Errorf("%d records are left behind, want 1: the gate is shut", n)
	}
	g.feed.gotThrough("A", older)
	g.bringBack(3)
	g.wantFree()
}

func TestNoneOvertakesARecordThatIsLeaving(t *testing.T) {
	g := newGated(t)
	probe, older, younger := g.take(1), g.take(2), g.take(3)
	probe.task.Aggregate = "y"
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkSave, older, nil, targetA, true)
	g.feed.gotThrough("A", probe) // what was left behind is not written yet
	g.wantOpen(younger)
	g.wantParked(parkLeave, younger, nil, targetA, false)
	g.feed.hasLeft(older, at(9000))
	for _, e := range g.bringBack(2, 3) {
		g.wantOpen(e, "A")
	}
	g.wantFree()
}

func TestNoneOvertakesWhatLeftForNoGate(t *testing.T) {
	g := newGated(t)
	oldest, older, younger := g.take(1), g.take(2), g.take(3)
	if !g.feed.leaves(older) {
		t.Fatal("it does not leave")
	}
	g.wantOpen(oldest, "A")
	g.wantOpen(younger)
	g.wantParked(parkRest, younger, nil, targetA, false)
	g.feed.hasLeft(older, at(9000))
	g.wantOpen(younger)
	g.bringBack(2)
}

func TestNoneOvertakesWhatAGateLeftBehind(t *testing.T) {
	g := newGated(t)
	oldest, older, younger, probe := g.take(1), g.take(2), g.take(3), g.take(4)
	probe.task.Aggregate = "y"
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkLeave, older, nil, targetA, false)
	g.wantParked(parkLeave, oldest, nil, targetA, false)
	g.feed.gotThrough("A", probe)
	g.wantOpen(younger)
	g.wantParked(parkLeave, younger, nil, targetA, false)
	for _, e := range g.bringBack(1, 2, 3) {
		g.wantOpen(e, "A")
	}
}

// A record that the reader takes for known may leave memory before the reader has
// passed it: its gate knows of it.
func TestWhatLeavesUnderTheReaderIsBroughtBack(t *testing.T) {
	g := newGated(t)
	probe, other := g.take(1), g.take(2)
	probe.task.Aggregate = "y"
	g.wantParked(parkHold, probe, targetA, nil, false)
	_, generation := g.feed.start()
	if c, _ := g.feed.ledger.consider(other.doc); c != considerKnown {
		t.Fatalf("it is considered %v, want it known", c)
	}
	g.wantParked(parkLeave, other, nil, targetA, false)
	g.feed.read(other.position(), generation)
	g.feed.gotThrough("A", probe)
	g.bringBack(2)
}

// What is left behind while a page is brought back may have been on it already.
func TestADrainComesBackToWhatWasLeftUnderIt(t *testing.T) {
	g := newGated(t)
	probe, other, late := g.take(1), g.take(2), g.take(3)
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkLeave, late, nil, targetA, false)
	g.feed.gotThrough("A", probe)
	gate := g.feed.nextDrain()
	_, last, _ := g.feed.beginDrain(gate)
	g.wantParked(parkLeave, other, nil, targetA, false)
	g.feed.endDrain(gate, last)
	g.bringBack(2, 3)
	g.wantFree()
}

// The target that is out again keeps what was brought back in memory: nothing is
// read twice, and a record with a pass is there to probe.
func TestADrainEndsWithTheOutageThatComesBack(t *testing.T) {
	g := newGated(t)
	probe, first, second := g.take(1), g.take(2), g.take(3)
	first.task.Aggregate, second.task.Aggregate = "y", "z"
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkLeave, first, nil, targetA, false)
	g.wantParked(parkLeave, second, nil, targetA, false)
	g.feed.gotThrough("A", probe)
	gate := g.feed.nextDrain()
	g.feed.beginDrain(gate)
	first = g.record(2)
	g.feed.admitBack(first, gate)
	g.feed.endDrain(gate, first.position())
	g.wantParked(parkHold, first, targetA, nil, false)
	if g.feed.nextDrain() != nil {
		t.Error("more is brought back while the target is out")
	}
	g.feed.ledger.remove(probe, at(9000))
	g.feed.gotThrough("A", first)
	g.bringBack(3)
}

// A probe that fails for itself may stand before others that would get through.
func TestMoreProbesComeWhereOneFailsForItself(t *testing.T) {
	g := newGated(t)
	probe, other := g.take(1), g.take(2)
	other.task.Aggregate = "y"
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkLeave, other, nil, targetA, false)
	g.feed.probesFail("A", probe)
	g.wantOpen(g.bringBack(2)[0], "A")
	if g.feed.gates[targetGate("A")].draining {
		t.Error("the gate is open")
	}
}

// The probe that goes another way leaves the gate open behind it, or nobody would
// ever open it.
func TestAProbeThatIsGoneOpensItsGate(t *testing.T) {
	g := newGated(t)
	probe, other := g.take(1), g.take(2)
	g.wantParked(parkHold, probe, targetA, nil, false)
	g.wantParked(parkLeave, other, nil, targetA, false)
	g.feed.ledger.remove(probe, at(9000))
	g.wantOpen(g.bringBack(2)[0], "A")
}

// A record that leaves its lane without a freeze, as a hold that is given up does,
// is read again at once: not only by the sweep.
func TestWhatLeavesItsLaneIsReadAgain(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 0)
	e.doc.CreatedAt = at(1000)
	e.feed.read(Position{At: at(2000), ID: "later"}, 0)
	e.outbox.leave(e)
	if g := e.feed.nextDrain(); g == nil || !g.from.before(e.position()) || e.outbox.ledger.size() != 0 {
		t.Errorf("the feed brings back %+v with %d records in memory, want it to bring back the record", g, e.outbox.ledger.size())
	}
}

// What a reader holds may have been brought back by a drain and settled before it
// is taken.
func TestWhatWasSettledSinceItWasReadIsNotTaken(t *testing.T) {
	g := newGated(t)
	e := g.record(1)
	e.doc.UpdateTime = at(1000)
	_, generation := g.feed.start()
	g.feed.ledger.mu.Lock()
	g.feed.ledger.settled.add(g.feed, e.doc.ID, settled{at: at(2000)})
	g.feed.ledger.mu.Unlock()
	if got := g.feed.admit(e, generation); got != known {
		t.Errorf("it is %v, want known", got)
	}
	if got := g.feed.admitBack(e, newTargetGate("A", e.position())); got != known {
		t.Errorf("a drain finds it %v, want known", got)
	}
}

// A record that may go to its target waits all the same while an older one of its
// aggregate is written: not in a circle.
func TestARecordWithAPassRestsWhileAnOlderLeaves(t *testing.T) {
	g := newGated(t)
	probe, older, younger := g.take(1), g.take(2), g.take(3)
	probe.task.Aggregate = "y"
	g.wantParked(parkHold, probe, targetA, nil, false)
	gate := g.feed.gates[targetGate("A")]
	gate.pass(younger)
	g.feed.open(targetGate("A"))
	if !g.feed.leaves(older) {
		t.Fatal("it does not leave")
	}
	g.wantParked(parkRest, younger, nil, targetA, false)
}

// A gate remembers so many of those that it left behind, and brings back all.
func TestAGateBringsBackMoreThanItRemembers(t *testing.T) {
	g := newGated(t)
	probe := g.take(1)
	g.wantParked(parkHold, probe, targetA, nil, false)
	_, generation := g.feed.start()
	if !g.feed.setLive(generation) {
		t.Fatal("the feed is not live")
	}
	var last *entry
	for i := range int64(gateMemory + 1) {
		last = g.record(2 + i)
		if got := g.feed.admit(last, generation); got != deferred {
			t.Fatalf("version %d is %v, want deferred", 2+i, got)
		}
	}
	g.feed.gotThrough("A", probe)
	gate := g.feed.nextDrain()
	_, end, _ := g.feed.beginDrain(gate)
	if got := g.feed.admitBack(last, gate); got != admitted || gate.more != 0 {
		t.Errorf("the last is %v, and %d more are behind the gate, want it admitted and none", got, gate.more)
	}
	g.feed.endDrain(gate, end)
}

// However long a drain goes on, it has few records under way that the target may
// refuse.
func TestADrainGrowsToHalfOfWhatItsFeedMayHold(t *testing.T) {
	g := newGated(t)
	g.feed.capacity = 200
	probe := g.take(1)
	g.wantParked(parkHold, probe, targetA, nil, false)
	_, generation := g.feed.start()
	for version := range int64(100) {
		g.feed.admit(g.record(2+version), generation)
	}
	g.feed.gotThrough("A", probe)
	gate := g.feed.gates[targetGate("A")]
	for version := range int64(20) {
		g.feed.beginDrain(gate)
		g.feed.endDrain(gate, g.record(2+version).position())
	}
	if _, _, limit := g.feed.beginDrain(gate); limit != 100 {
		t.Errorf("a page has %d documents, want 100", limit)
	}
}
