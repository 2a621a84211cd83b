package feed

import (
	"testing"
)

// A record that the reader takes for known may leave memory before the reader has
// passed it: its gate knows of it.
func TestWhatLeavesUnderTheReaderIsBroughtBack(t *testing.T) {
	g := newGated(t)
	probe, other := g.takeOf("y", 1), g.take(2)
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
	probe, older, younger := g.takeOf("y", 1), g.take(2), g.take(3)
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
	probe, older, younger := g.takeOf("y", 1), g.take(2), g.take(3)
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
	probe, first, second := g.take(1), g.takeOf("y", 2), g.takeOf("z", 3)
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
