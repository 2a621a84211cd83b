package feed

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// These are what TestFeedModel comes upon only in some of its runs: each of them
// would have a record overtaken or forgotten.

// gated is a feed with the records of one aggregate, for target A alone.
type gated struct {
	*testing.T
	machine *Machine
	feed    *Feed
}

func newGated(t *testing.T) *gated {
	m := New()
	return &gated{t, m, m.AddFeed(contracts.StandardLane, 10, room(1<<30))}
}

// step plays an event, and wants the machine whole after it.
func (g *gated) step(e Event) ([]Action, Taken) {
	g.Helper()
	actions, taken := g.machine.Step(e)
	if err := g.machine.Check(); err != nil {
		g.Errorf("after %T: %v", e, err)
	}
	return slices.Clone(actions), taken
}

// becomes plays an event and returns what becomes of its record.
func (g *gated) becomes(e Event) Do {
	g.Helper()
	actions, _ := g.step(e)
	return actions[len(actions)-1].Do
}

// wantOthers has a record take its turn, and says for which of its targets others
// wait behind gates.
func (g *gated) wantOthers(r *Record, want []string) {
	g.Helper()
	actions, _ := g.step(Turn{Record: r})
	if got := actions[len(actions)-1].Others; !slices.Equal(got, want) {
		g.Errorf("others wait for %v, want %v", got, want)
	}
}

// record is one that was committed version seconds after the start.
func (g *gated) record(version int64) *Record {
	id := fmt.Sprintf("%05d", version)
	return &Record{
		Sight: Sight{ID: id, CreatedAt: at(1000 * version), CreateTime: at(1000 * version), UpdateTime: at(10_000_000)}, // after whatever is written
		Home:  g.feed, Aggregate: "x", AggregateID: "x", Version: version, Targets: []string{"A"},
	}
}

// read has the feed read a record, and reports whether it is in memory then.
func (g *gated) read(r *Record) bool {
	g.Helper()
	_, generation := g.feed.Start()
	if taken := g.submit(&Batch{Feed: g.feed, Generation: generation, Records: []*Record{r}, UpTo: r.Position()}); taken.Stopped != NotStopped {
		g.Fatalf("version %d is not taken: %+v", r.Version, taken)
	}
	return g.machine.held[r.ID] == r
}

// submit gives a batch to its feed as a reader does: what is taken is submitted,
// and then the rest is given. The batch keeps what is not taken.
func (g *gated) submit(b *Batch) (taken Taken) {
	g.Helper()
	for {
		_, taken = g.step(*b)
		b.Records = b.Records[taken.Records:]
		if taken.Stopped != StoppedSubmit {
			return taken
		}
	}
}

// take has the feed take a record into memory.
func (g *gated) take(version int64) *Record {
	g.Helper()
	r := g.record(version)
	if !g.read(r) {
		g.Fatalf("version %d is not in memory", version)
	}
	return r
}

func (g *gated) wantOpen(r *Record, want ...string) {
	g.Helper()
	actions, _ := g.step(Turn{Record: r})
	last := actions[len(actions)-1]
	if last.Do != Deliver || len(last.Open) != len(want) || len(want) > 0 && !cmp.Equal(last.Open, want) {
		g.Errorf("version %d goes to %v (%d), want %v", r.Version, last.Open, last.Do, want)
	}
}

func (g *gated) wantParked(want Do, r *Record, blocked, gated []string, unsaved bool) {
	g.Helper()
	if got := g.becomes(Tried{Record: r, Then: Parks, Blocked: blocked, Gated: gated, Unsaved: unsaved}); got != want {
		g.Errorf("version %d is parked as %d, want %d", r.Version, got, want)
	}
}

// gotThrough has a record reach A.
func (g *gated) gotThrough(r *Record) {
	g.Helper()
	g.step(Tried{Record: r, Acked: []string{"A"}})
}

// isSettled has a record settled, and hasLeft has one saved that leaves.
func (g *gated) isSettled(r *Record) { g.settle(r, End, at(9000)) }
func (g *gated) hasLeft(r *Record)   { g.settle(r, Save, at(9000)) }

func (g *gated) settle(r *Record, kind Kind, at time.Time) {
	g.Helper()
	s := &Settlement{Record: r, Kind: kind}
	g.step(Settle{s})
	g.step(Settled{s, at})
}

// leaves has a record leave memory for no gate, as its outbox is given back.
func (g *gated) leaves(r *Record) {
	g.Helper()
	if got := g.becomes(GivenBack{Record: r, Unsaved: true}); got != SaveIt {
		g.Fatalf("version %d does not leave: %d", r.Version, got)
	}
}

func (g *gated) readBack() ReadBack {
	g.Helper()
	page, ok := g.feed.BeginBack()
	if !ok {
		g.Fatal("nothing is to be brought back")
	}
	return page
}

// bringBack has the gate of target A bring those versions back, the last of what
// was left there among them.
func (g *gated) bringBack(versions ...int64) []*Record {
	g.Helper()
	page := g.readBack()
	var brought []*Record
	for _, version := range versions {
		r := g.record(version)
		if p := r.Position(); !page.After.Before(p) || page.Last.Before(p) {
			g.Errorf("version %d is at %v, and brought back is what is after %v up to %v", version, p, page.After, page.Last)
		}
		g.wantBack(page, r)
		brought = append(brought, r)
	}
	g.step(BackEnded{Gate: page.Gate, UpTo: page.Last})
	return brought
}

// wantBack wants a record that a page shows taken back.
func (g *gated) wantBack(page ReadBack, r *Record) {
	g.Helper()
	if _, taken := g.step(Back{Gate: page.Gate, Records: []*Record{r}}); taken.Stopped != StoppedSubmit || g.machine.held[r.ID] != r {
		g.Fatalf("version %d is not brought back: %+v", r.Version, taken)
	}
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
	probe, older, younger := g.take(1), g.take(2), g.take(3)
	probe.Aggregate = "y"
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
	oldest, older, younger, probe := g.take(1), g.take(2), g.take(3), g.take(4)
	probe.Aggregate = "y"
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

// A record that the reader takes for known may leave memory before the reader has
// passed it: its gate knows of it.
func TestWhatLeavesUnderTheReaderIsBroughtBack(t *testing.T) {
	g := newGated(t)
	probe, other := g.take(1), g.take(2)
	probe.Aggregate = "y"
	g.wantParked(Probe, probe, targetA, nil, false)
	_, generation := g.feed.Start()
	if j, _ := g.machine.Judge(other.Sight, g.feed.Lane); j != Known {
		t.Fatalf("it is judged %v, want it known", j)
	}
	g.wantParked(Forget, other, nil, targetA, false)
	g.step(Batch{Feed: g.feed, Generation: generation, UpTo: other.Position()})
	g.gotThrough(probe)
	g.bringBack(2)
}

// What is left behind while a page is brought back may have been on it already.
func TestADrainComesBackToWhatWasLeftUnderIt(t *testing.T) {
	g := newGated(t)
	probe, other, late := g.take(1), g.take(2), g.take(3)
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, late, nil, targetA, false)
	g.gotThrough(probe)
	page := g.readBack()
	g.wantParked(Forget, other, nil, targetA, false)
	g.step(BackEnded{Gate: page.Gate, UpTo: page.Last})
	g.bringBack(2, 3)
	g.wantFree()
}

// A page may show a younger record that is in memory before it has room for an older
// one, which goes first.
func TestWhatIsInMemoryWaitsForTheOlderOnThePage(t *testing.T) {
	g := newGated(t)
	probe, older, younger := g.take(1), g.take(2), g.take(3)
	probe.Aggregate = "y"
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, older, nil, targetA, false)
	g.gotThrough(probe)
	page := g.readBack()
	g.feed.capacity = 1 // what is in memory fills it
	back := Back{Gate: page.Gate, Known: []string{younger.ID}, Records: []*Record{g.record(2)}}
	if _, taken := g.step(back); taken.Stopped != StoppedFull {
		t.Fatalf("taken: %+v", taken)
	}
	g.wantOpen(younger)
	g.feed.capacity = 10
	g.step(back)
	older = back.Records[0]
	g.wantOpen(younger) // the older one is not in its lane yet
	back.Records = nil
	g.step(back)
	g.wantOpen(older, "A")
	g.wantOpen(younger, "A")
}

// A feed that was sent back, as an aggregate goes on whose freeze is gone, comes to
// older records than wait behind the gate of a target.
func TestADrainDoesNotGetAheadOfItsFeed(t *testing.T) {
	g := newGated(t)
	probe, older, younger := g.take(1), g.take(2), g.take(3)
	probe.Aggregate, probe.AggregateID = "y", "y"
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, younger, nil, targetA, false)
	g.step(Stands{"x", Releasing})
	if got := g.becomes(Withdrawn{Record: older}); got != Forget {
		t.Fatalf("it becomes %d", got)
	}
	g.gotThrough(probe)
	page := g.readBack() // before the feed is sent back
	g.step(Thawed{"x", Free, map[*Feed]Position{g.feed: older.Position()}})
	if _, taken := g.step(Back{Gate: page.Gate, Records: []*Record{g.record(3)}}); taken.Stopped != StoppedStale {
		t.Errorf("taken: %+v, want it stale", taken)
	}
	g.step(BackEnded{Gate: page.Gate, UpTo: page.After})
	if page = g.readBack(); !page.Last.Before(older.Position()) {
		t.Errorf("it is read back up to %v, before the feed has come to %v", page.Last, older.Position())
	}
	if g.step(BackEnded{Gate: page.Gate, UpTo: page.Last}); g.feed.Drains() {
		t.Error("more is to be read back")
	}
	older = g.record(2)
	if g.read(older) { // it stays behind the gate, which was there first
		t.Error("it is in memory")
	}
	g.step(Batch{Feed: g.feed, Generation: g.feed.generation, UpTo: younger.Position()})
	for _, r := range g.bringBack(2, 3) {
		g.wantOpen(r, "A")
	}
}

// The target that is out again keeps what was brought back in memory: nothing is
// read twice, and a record with a pass is there to probe.
func TestADrainEndsWithTheOutageThatComesBack(t *testing.T) {
	g := newGated(t)
	probe, first, second := g.take(1), g.take(2), g.take(3)
	first.Aggregate, second.Aggregate = "y", "z"
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, first, nil, targetA, false)
	g.wantParked(Forget, second, nil, targetA, false)
	g.gotThrough(probe)
	page := g.readBack()
	first = g.record(2)
	g.wantBack(page, first)
	g.step(BackEnded{Gate: page.Gate, UpTo: first.Position()})
	g.wantParked(Probe, first, targetA, nil, false)
	if g.feed.Drains() {
		t.Error("more is brought back while the target is out")
	}
	g.isSettled(probe)
	g.gotThrough(first)
	g.bringBack(3)
}

// A probe that fails for itself may stand before others that would get through.
func TestMoreProbesComeWhereOneFailsForItself(t *testing.T) {
	g := newGated(t)
	probe, other := g.take(1), g.take(2)
	other.Aggregate = "y"
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
	probe, older, younger := g.take(1), g.take(2), g.take(3)
	probe.Aggregate = "y"
	g.wantParked(Probe, probe, targetA, nil, false)
	gate := g.feed.gates[targetGate("A")]
	gate.pass(younger)
	g.feed.open(targetGate("A"))
	g.leaves(older)
	g.wantParked(Rest, younger, nil, targetA, false)
}

// A gate remembers so many of those that it left behind, and brings back all.
func TestAGateBringsBackMoreThanItRemembers(t *testing.T) {
	g := newGated(t)
	probe := g.take(1)
	g.wantParked(Probe, probe, targetA, nil, false)
	_, generation := g.feed.Start()
	g.step(Batch{Feed: g.feed, Generation: generation, Reach: Live})
	var last *Record
	for i := range int64(gateMemory + 1) {
		last = g.record(2 + i)
		if g.read(last) {
			t.Fatalf("version %d is taken, want it left behind", last.Version)
		}
	}
	g.gotThrough(probe)
	page := g.readBack()
	if g.wantBack(page, last); page.Gate.more != 0 {
		t.Errorf("%d more are behind the gate, want none", page.Gate.more)
	}
	g.step(BackEnded{Gate: page.Gate, UpTo: page.Last})
}

// However long a drain goes on, it has few records under way that the target may
// refuse.
func TestADrainGrowsToHalfOfWhatItsFeedMayHold(t *testing.T) {
	g := newGated(t)
	g.feed.capacity = 200
	probe := g.take(1)
	g.wantParked(Probe, probe, targetA, nil, false)
	for version := range int64(100) {
		g.read(g.record(2 + version))
	}
	g.gotThrough(probe)
	for version := range int64(20) {
		page := g.readBack()
		g.step(BackEnded{Gate: page.Gate, UpTo: g.record(2 + version).Position()})
	}
	if page := g.readBack(); page.Limit != 100 {
		t.Errorf("a page has %d documents, want 100", page.Limit)
	}
}

// refused has a record's lane refuse it.
func (g *gated) refused(version int64) {
	g.Helper()
	r := g.record(version)
	_, generation := g.feed.Start()
	g.step(Batch{Feed: g.feed, Generation: generation, Records: []*Record{r}})
	g.step(Refused{Record: r})
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
	g.step(Idle{"x"})
	if cursor, _ := g.feed.Start(); !cursor.Before(g.record(2).Position()) {
		t.Errorf("it is read on from %v", cursor)
	}
	for _, version := range []int64{2, 3, 9} {
		g.wantOpen(g.take(version), "A")
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
