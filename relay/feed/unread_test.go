package feed

import (
	"testing"
	"time"
)

func (g *gated) wantUnread(when string, want time.Time) {
	g.Helper()
	if got := g.feed.Unread(); !got.Equal(want) {
		g.Errorf("%s, the oldest that is not taken is of %v, want %v", when, got, want)
	}
}

// What was read and finds no room is not forgotten until it is taken, also where the feed
// is sent back over it.
func TestAFeedKnowsWhatWaitsForRoom(t *testing.T) {
	g := newGated(t)
	g.feed.capacity = 1
	g.wantUnread("before anything was read", time.Time{})
	first, second, third := g.record(1), g.record(2), g.record(3)
	batch := Batch{Feed: g.feed, Records: []*Record{first, third, second}, UpTo: third.Position(), Reach: Live}
	g.submit(&batch)
	g.wantUnread("without room", second.CreatedAt)
	g.isSettled(first)
	g.submit(&batch)
	g.wantUnread("with room for one more", second.CreatedAt)
	g.step(Reread{Feed: g.feed, From: third.Position()})
	g.wantUnread("sent back", second.CreatedAt)
	g.isSettled(third)
	if !g.read(second) {
		t.Fatal("the second is not taken")
	}
	_, generation := g.feed.Start()
	g.step(Batch{Feed: g.feed, Generation: generation, Reach: Live})
	g.wantUnread("once all is taken", time.Time{})
}

// What a feed was sent back for may be older than all that it has in memory.
func TestAFeedKnowsWhatItWasSentBackFor(t *testing.T) {
	g := newGated(t)
	for version := range int64(4) {
		g.take(version + 4)
	}
	g.step(Reread{Feed: g.feed, From: g.record(1).Position()})
	g.wantUnread("sent back", at(1000))
	g.step(Reread{Feed: g.feed, From: g.record(3).Position()})
	g.wantUnread("sent back to a younger one, too", at(1000))
	g.take(2)
	g.wantUnread("on its way", at(2000))
	g.take(3)
	g.wantUnread("close to where it was", at(3000))
	g.read(g.record(7))
	g.wantUnread("where it was", time.Time{})
}

// A feed that is short of room has missed nothing of what is still to come.
func TestWhatIsStillToComeIsNotMissed(t *testing.T) {
	for name, test := range map[string]struct {
		version int64
		late    bool
		want    Do
	}{
		"read, and without room":                           {2, false, LetGo},
		"told of after that, as the reader is late":        {5, true, LetGo},
		"not told of, though the reader is not late":       {5, false, Reading},
		"before what was read, however late the reader is": {1, true, Reading},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGated(t)
			g.feed.capacity = 1
			_, generation := g.feed.Start()
			first := g.record(3)
			g.submit(&Batch{Feed: g.feed, Generation: generation, Records: []*Record{first}, UpTo: first.Position(), Reach: Live})
			waits := g.record(2)
			g.submit(&Batch{Feed: g.feed, Generation: generation, Records: []*Record{waits}, UpTo: first.Position(), Reach: Live})
			if got := g.becomes(Missed{Record: g.record(test.version), Late: test.late}); got != test.want {
				t.Errorf("it becomes %d, want %d", got, test.want)
			}
		})
	}
}
