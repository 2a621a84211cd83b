package feed

import "testing"

// What was held stood behind no gate: it is read from the oldest on, whatever the
// feed has read since.
func TestAThawSendsItsFeedsBack(t *testing.T) {
	g := newGated(t)
	oldest, other := g.record(1), g.record(5)
	other.Aggregate, other.AggregateID = "y", "y"
	g.read(other)
	g.step(Stands{"x", Thawing})
	g.step(Thawed{"x", Free, map[*Feed]Position{g.feed: oldest.Position()}})
	if from, _ := g.feed.Start(); from != oldest.Position().commit() {
		t.Errorf("the feed reads on from %v, want %v", from, oldest.Position().commit())
	}
}
