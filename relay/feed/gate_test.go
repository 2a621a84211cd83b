package feed

import (
	"testing"

	"outboxrelay/contracts"
)

// These are what TestFeedModel comes upon only in some of its runs: each of them
// would have a record overtaken or forgotten.

func TestAnOlderRecordBecomesTheProbe(t *testing.T) {
	g := newGated(t)
	older, younger, third := g.take(1), g.take(2), g.take(3)
	g.wantParked(Probe, younger, targetA, nil, false) // it met the target first
	g.wantOpen(older, "A")
	g.wantOpen(third)
	g.wantParked(Probe, older, targetA, nil, false)
	g.wantParked(Forget, third, nil, targetA, false)
	if n := g.feed.LeftBehind(); n != 1 {
		t.Errorf("%d records are left behind, want 1: the gate is shut", n)
	}
	g.gotThrough(older)
	g.bringBack(3)
	g.wantOpen(younger, "A") // it waits no more
	g.wantFree()
}

func TestNoneOvertakesARecordThatIsLeaving(t *testing.T) {
	g := newGated(t)
	probe, older, younger := g.takeOf("y", 1), g.take(2), g.take(3)
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(SaveIt, older, nil, targetA, true)
	g.gotThrough(probe) // what was left behind is not written yet
	g.wantOpen(younger)
	g.wantParked(Forget, younger, nil, targetA, false)
	g.hasLeft(older)
	for _, e := range g.bringBack(2, 3) {
		g.wantOpen(e, "A")
	}
	g.wantFree()
}

func TestNoneOvertakesWhatLeftForNoGate(t *testing.T) {
	g := newGated(t)
	oldest, older, younger := g.take(1), g.take(2), g.take(3)
	g.leaves(older)
	g.wantOpen(oldest, "A")
	g.wantOpen(younger)
	g.wantParked(Rest, younger, nil, targetA, false)
	g.hasLeft(older)
	g.wantOpen(younger)
	g.bringBack(2)
}

func TestNoneOvertakesWhatAGateLeftBehind(t *testing.T) {
	g := newGated(t)
	oldest, older, younger, probe := g.take(1), g.take(2), g.take(3), g.takeOf("y", 4)
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, older, nil, targetA, false)
	g.wantParked(Forget, oldest, nil, targetA, false)
	g.gotThrough(probe)
	g.wantOpen(younger)
	g.wantParked(Forget, younger, nil, targetA, false)
	for _, e := range g.bringBack(1, 2, 3) {
		g.wantOpen(e, "A")
	}
}

// A probe that fails for itself may stand before others that would get through.
func TestMoreProbesComeWhereOneFailsForItself(t *testing.T) {
	g := newGated(t)
	probe, other := g.take(1), g.takeOf("y", 2)
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, other, nil, targetA, false)
	g.wantOthers(probe, targetA)
	g.step(Tried{Record: probe, Then: Retries, Alone: targetA})
	g.wantOpen(g.bringBack(2)[0], "A")
	g.wantOthers(probe, nil) // as they are in memory
	if g.feed.gates[targetGate("A")].draining {
		t.Error("the gate is open")
	}
}

// What was on its way when the gate was shut, and arrived, tells nothing of the target as
// it is now.
func TestAnAnswerToOneWithoutAPassOpensNoGate(t *testing.T) {
	g := newGated(t)
	probe, before := g.take(1), g.takeOf("y", 2)
	g.wantOpen(before, "A")
	g.wantParked(Probe, probe, targetA, nil, false)
	g.gotThrough(before)
	if g.feed.gates[targetGate("A")].draining {
		t.Error("the gate is open")
	}
	g.gotThrough(probe)
	g.wantFree()
}

// The probe that goes another way leaves the gate open behind it, or nobody would
// ever open it.
func TestAProbeThatIsGoneOpensItsGate(t *testing.T) {
	g := newGated(t)
	probe, other := g.take(1), g.take(2)
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, other, nil, targetA, false)
	g.isSettled(probe)
	g.wantOpen(g.bringBack(2)[0], "A")
}

// A record that leaves its lane without a freeze, as a hold that is given up does,
// is read again at once: not only by the sweep.
func TestWhatLeavesItsLaneIsReadAgain(t *testing.T) {
	g := newGated(t)
	r := g.take(1)
	g.take(2)
	if got := g.becomes(Withdrawn{Record: r}); got != Forget {
		t.Errorf("it becomes %d", got)
	}
	g.bringBack(1)
}

// What a reader holds may have been brought back by a drain and settled before it
// is taken.
func TestWhatWasSettledSinceItWasReadIsNotTaken(t *testing.T) {
	g := newGated(t)
	r := g.take(1)
	r.UpdateTime = at(1000)
	g.settle(r, End, at(2000))
	again := g.record(1)
	again.UpdateTime = at(1000)
	if g.read(again) {
		t.Error("it is taken again")
	}
	probe := g.take(2)
	g.wantParked(Probe, probe, targetA, nil, false)
	g.gotThrough(probe)
	gate := g.feed.shutGate("A", again.Position())
	gate.draining, gate.paging = true, true
	g.step(Back{Gate: gate, Records: []*Record{again}})
	if g.machine.held[again.ID] != nil {
		t.Error("a drain takes it again")
	}
}

// A record that may go to its target waits all the same while an older one of its
// aggregate is written: not in a circle.
func TestARecordWithAPassRestsWhileAnOlderLeaves(t *testing.T) {
	g := newGated(t)
	probe, older, younger := g.takeOf("y", 1), g.take(2), g.take(3)
	g.wantParked(Probe, probe, targetA, nil, false)
	gate := g.feed.gates[targetGate("A")]
	gate.pass(younger)
	g.feed.open(targetGate("A"))
	g.leaves(older)
	g.wantParked(Rest, younger, nil, targetA, false)
}

// A lane that has too many of an aggregate refuses an older record than it has
// already: none of those goes before it.
func TestNoneOvertakesARecordThatItsLaneRefused(t *testing.T) {
	g := newGated(t)
	head, younger, other := g.take(1), g.take(3), g.take(9)
	g.refused(2)
	g.wantOpen(head, "A")
	if got := g.becomes(Turn{Record: younger}); got != Forget {
		t.Errorf("the younger becomes %d, want that it leaves memory", got)
	}
	if got := g.becomes(Turn{Record: other, Unsaved: true}); got != SaveIt {
		t.Errorf("one whose progress is not written becomes %d, want that this is written first", got)
	}
	g.hasLeft(other)
	g.gotThrough(head)
	g.isSettled(head)
	g.step(Idle{"x", contracts.StandardLane})
	if cursor, _ := g.feed.Start(); !cursor.Before(g.record(2).Position()) {
		t.Errorf("it is read on from %v", cursor)
	}
	for _, version := range []int64{2, 3, 9} {
		g.wantOpen(g.take(version), "A")
	}
}

// An aggregate may stand in several lanes: that one of them has none of it left says
// nothing of the others, which still have younger ones.
func TestAnAggregatesGateStaysShutForItsLane(t *testing.T) {
	g := newGated(t)
	head, younger := g.take(1), g.take(3)
	g.refused(2)
	g.step(Idle{"x", contracts.CriticalLane})
	g.wantOpen(head, "A")
	if got := g.becomes(Turn{Record: younger}); got != Forget {
		t.Errorf("the younger becomes %d, want that it leaves memory", got)
	}
}

// The records of one lane's pages may run in two, as an event's lane was changed: both
// have to be rid of them. Those that another has by then wait for what is read.
func TestAnAggregatesGateOpensOnceAllLanesThatRefusedAreIdle(t *testing.T) {
	g := newGated(t)
	one, other, younger := g.take(2), g.take(3), g.take(9)
	g.step(Refused{Record: one, By: contracts.StandardLane})
	g.step(Refused{Record: other, By: contracts.CriticalLane})
	g.step(Idle{"x", contracts.StandardLane})
	if n := g.feed.LeftBehind(); n != 2 {
		t.Errorf("%d are behind the gate, want two", n)
	}
	g.step(Idle{"x", contracts.CriticalLane})
	if n := g.feed.LeftBehind(); n != 0 {
		t.Errorf("%d are behind the gate, want none", n)
	}
	if got := g.becomes(Turn{Record: younger}); got != WaitOlder {
		t.Errorf("the younger becomes %d, want that it waits for what is read", got)
	}
}

// A lane may ask for the turn of a record as its aggregate begins to be released, before
// that takes it out of the lane.
func TestNoTurnComesWhileAFreezeIsReleased(t *testing.T) {
	g := newGated(t)
	r := g.take(1)
	g.step(Stands{"x", Releasing})
	if got := g.becomes(Turn{Record: r}); got != Forget {
		t.Errorf("it becomes %d, want that it leaves memory", got)
	}
	if n := g.feed.LeftBehind(); n != 1 {
		t.Errorf("%d are behind the gate of the freeze, want one", n)
	}
}

// One that breaks the contract is nobody's to hold up.
func TestAFaultyRecordPassesEveryGate(t *testing.T) {
	g := newGated(t)
	head := g.take(1)
	g.wantParked(Probe, head, targetA, nil, false)
	g.refused(2)
	g.step(Stands{"x", Releasing})
	faulty := g.record(3)
	faulty.Faulty, faulty.Targets = true, nil
	if !g.read(faulty) {
		t.Error("it is left behind")
	}
}

// A record in backoff is in its lane before older ones are read. It waits until all of
// them are in their lane: of a page that waits for room, those that came before.
func TestWhatWasInBackoffWaitsForOlderOnes(t *testing.T) {
	g := newGated(t)
	waits := g.record(3)
	waits.Origin, waits.Retrying = Searched, true
	g.step(Found{waits})
	want := func(when string, do Do) {
		t.Helper()
		if got := g.becomes(Turn{Record: waits}); got != do {
			t.Errorf("%s it becomes %d, want %d", when, got, do)
		}
	}
	want("before anything is read", WaitOlder)
	batch := Batch{Feed: g.feed, Records: []*Record{g.record(1), g.record(2), g.record(4)}, UpTo: g.record(4).Position(), Reach: Live}
	g.feed.capacity = 2
	for range 2 {
		g.step(batch)
		batch.Records = batch.Records[1:]
		want("as an older one is about to come into its lane", WaitOlder)
	}
	if _, taken := g.step(batch); taken.Stopped != StoppedFull {
		t.Fatalf("taken: %+v", taken)
	}
	want("while a younger one waits for room", Deliver)
}
