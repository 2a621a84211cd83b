package feed

import "testing"

// What finds no room is not passed over: the cursor stays before it until all of the
// batch is taken.
func TestABatchStopsWhereItsFeedIsFull(t *testing.T) {
	g := newGated(t)
	g.feed.capacity = 2
	first := g.record(1)
	batch := Batch{Feed: g.feed, Records: []*Record{first, g.record(2), g.record(3)}, UpTo: g.record(3).Position()}
	taken := g.submit(&batch)
	if taken.Stopped != StoppedFull || len(batch.Records) != 1 || g.machine.Size() != 2 {
		t.Fatalf("taken: %+v, %d in memory; want two, and then no room", taken, g.machine.Size())
	}
	if from, _ := g.feed.Start(); !from.Zero() {
		t.Errorf("the feed reads on from %v, past what it has not taken", from)
	}
	g.isSettled(first)
	if taken = g.submit(&batch); taken.Stopped != NotStopped || g.machine.Size() != 2 {
		t.Errorf("taken: %+v, %d in memory; want the rest, once there is room", taken, g.machine.Size())
	}
	if from, _ := g.feed.Start(); from != batch.UpTo {
		t.Errorf("the feed reads on from %v, want %v", from, batch.UpTo)
	}
}

// What was read before the feed was sent back may lack what it was sent back for.
func TestABatchFromBeforeTheFeedWasSentBackIsStale(t *testing.T) {
	g := newGated(t)
	older, younger := g.record(1), g.record(2)
	_, generation := g.feed.Start()
	g.step(Reread{Feed: g.feed, From: older.Position()})
	_, taken := g.step(Batch{Feed: g.feed, Generation: generation, Records: []*Record{younger}, UpTo: younger.Position(), Reach: Live})
	if taken.Stopped != StoppedStale || g.machine.Size() != 0 {
		t.Errorf("taken: %+v, %d in memory; want nothing, as it is stale", taken, g.machine.Size())
	}
	if from, _ := g.feed.Start(); !from.Zero() || g.feed.live {
		t.Errorf("the feed reads on from %v, live %t; want it where it was", from, g.feed.live)
	}
}
