package feed

import "testing"

func (g *gated) wantTurn(r *Record, want Do) {
	g.Helper()
	if got := g.becomes(Turn{Record: r}); got != want {
		g.Errorf("at its turn version %d becomes %d, want %d", r.Version, got, want)
	}
}

// Until a dead letter is written, a crash would have its record delivered after those
// that went before it.
func TestYoungerOnesWaitForABurial(t *testing.T) {
	g := newGated(t)
	older, younger := g.take(1), g.take(2)
	g.step(Tried{Record: older, Then: Dies})
	g.wantTurn(younger, WaitBurial)
	g.isSettled(older)
	g.wantTurn(younger, Deliver)
}

// What was in backoff is searched, past what its feed has read: an older one may
// still come.
func TestASearchedRecordWaitsUntilItsFeedHasComeToIt(t *testing.T) {
	g := newGated(t)
	r := g.record(2)
	r.Origin = Searched
	g.step(Found{Record: r})
	g.wantTurn(r, WaitOlder)
	older := g.take(1)
	g.wantTurn(r, WaitOlder)
	g.isSettled(older)
	g.step(Batch{Feed: g.feed, UpTo: r.Position()})
	g.wantTurn(r, Deliver)
}
