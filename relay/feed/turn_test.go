package feed

import (
	"slices"
	"testing"
)

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

// What comes back while a run is made up is older than those of the run that had no turn
// yet, and comes into the next run: until then they do not go where it has yet to go.
func TestNoneOfARunOvertakesWhatComesBackMeanwhile(t *testing.T) {
	g := newGated(t)
	probe, older, first, younger := g.takeOf("y", 1), g.take(2), g.record(3), g.record(4)
	first.Targets, younger.Targets = []string{"B"}, []string{"A", "B"}
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, older, nil, targetA, false)
	g.gotThrough(probe)
	g.read(first)
	g.read(younger)
	g.wantOpen(first, "B")    // the first of the run
	older = g.bringBack(2)[0] // and with it the gate is gone
	g.wantOpen(younger, "B")  // the second
	g.wantParked(Again, younger, nil, targetA, false)
	g.wantOpen(older, "A") // the next run
	g.wantOpen(younger, "A", "B")
}

// Where the older records of its run wait for a target, a record has to wait too; also
// a stray, which no gate holds back.
func TestARecordGoesNowhereItsRunIsWithheldFrom(t *testing.T) {
	g := newGated(t)
	r, stray := g.record(1), g.record(2)
	r.Targets, stray.Targets = []string{"A", "B", "C"}, []string{"B", "C"}
	stray.Home, stray.Origin = nil, Stray
	g.read(r)
	g.step(Found{Record: stray})
	for _, tc := range []struct {
		turn        Turn
		open, gated []string
	}{
		{Turn{Record: r}, []string{"A", "B", "C"}, nil},
		{Turn{Record: r, Withheld: []string{"B"}}, []string{"A", "C"}, []string{"B"}},
		{Turn{Record: stray, Withheld: []string{"B"}}, []string{"C"}, []string{"B"}},
		{Turn{Record: stray, Withheld: []string{"C", "A", "B"}}, nil, []string{"B", "C"}},
	} {
		actions, _ := g.step(tc.turn)
		if a := actions[len(actions)-1]; a.Do != Deliver || !slices.Equal(a.Open, tc.open) || !slices.Equal(a.Gated, tc.gated) {
			t.Errorf("version %d, withheld from %v: %d to %v, and waits for %v; want to %v, and to wait for %v",
				tc.turn.Record.Version, tc.turn.Withheld, a.Do, a.Open, a.Gated, tc.open, tc.gated)
		}
	}
	if !slices.Equal(r.Targets, []string{"A", "B", "C"}) {
		t.Errorf("the record itself lost targets: %v", r.Targets)
	}
}
