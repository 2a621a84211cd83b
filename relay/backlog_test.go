package relay

import (
	"testing"
	"time"
)

// The listeners stay closed while a backlog is worked off, and no longer: one that
// stands still waits for something else.
func TestBacklogThatStandsStillKeepsNoListenerClosed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := newBacklog(func() time.Time { return now })
	shrinks := func(clog int) bool {
		yes, _ := b.shrinks(clog)
		return yes
	}
	if shrinks(100) {
		t.Error("records that are under way are a backlog, before any lane had one")
	}
	b.begins()
	b.begins()
	for clog := 100; clog > 90; clog-- {
		if now = now.Add(stands - time.Second); !shrinks(clog) {
			t.Fatalf("at %d records it is none any more, although they become fewer", clog)
		}
	}
	if now = now.Add(stands); shrinks(91) {
		t.Errorf("it is still one after %v in which nothing moved", stands)
	}
	if !shrinks(90) {
		t.Error("it is none any more, although it moves again")
	}
	b.ends()
	yes, over := b.shrinks(89)
	if !yes {
		t.Error("it is over before its last lane has settled it")
	}
	b.ends()
	select {
	case <-over:
	default:
		t.Error("those that wait are not told that it is over")
	}
	if shrinks(88) {
		t.Error("it is never over")
	}
}

// A Firestore that takes long for a page is asked less often.
func TestPollsGiveWayToABusyFirestore(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0:                      time.Second,
		100 * time.Millisecond: time.Second,
		250 * time.Millisecond: 2 * time.Second,
		time.Minute:            5 * time.Second,
	} {
		if got := pollAgain(took); got != want {
			t.Errorf("after a page that took %v the next comes after %v, want %v", took, got, want)
		}
	}
}
