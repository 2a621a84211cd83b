package feed

import "testing"

// underAPage is a drain whose page was read when an older record was about to be
// written: it is left behind since, and not on the page.
func underAPage(t *testing.T, leftToo bool) (g *gated, page ReadBack, younger *Record) {
	t.Helper()
	g = newGated(t)
	probe, older, younger, other := g.takeOf("y", 1), g.take(2), g.take(3), g.takeOf("z", 4)
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, other, nil, targetA, false)
	if leftToo {
		g.wantParked(Forget, younger, nil, targetA, false)
	}
	g.gotThrough(probe)
	page = g.readBack()
	g.leaves(older)
	g.hasLeft(older)
	return g, page, younger
}

// wantBothInTurn ends the page and wants the next to bring both.
func (g *gated) wantBothInTurn(page ReadBack) {
	g.Helper()
	g.step(BackEnded{Gate: page.Gate, UpTo: page.Last})
	for _, r := range g.bringBack(2, 3) {
		g.wantOpen(r, "A")
	}
}

func TestAnOutdatedPageTakesNothingIntoMemory(t *testing.T) {
	g, page, younger := underAPage(t, true)
	again := g.record(younger.Version)
	if g.step(Back{Gate: page.Gate, Records: []*Record{again}}); g.machine.held[again.ID] != nil {
		t.Error("it is in memory before the older one that was left behind")
	}
	g.wantBothInTurn(page)
}

func TestAnOutdatedPageGivesNoPass(t *testing.T) {
	g, page, younger := underAPage(t, false)
	g.step(Back{Gate: page.Gate, Known: []string{younger.ID}})
	g.wantOpen(younger)
	g.wantParked(Forget, younger, nil, targetA, false)
	g.wantBothInTurn(page)
}

// What stands before the page that is being brought back may have an older one left
// behind it since.
func TestNoneIsGivenAPassWhileAPageIsBroughtBack(t *testing.T) {
	g := newGated(t)
	probe, older, younger, first, second := g.takeOf("y", 1), g.take(2), g.take(3), g.takeOf("z", 4), g.takeOf("z", 5)
	g.wantParked(Probe, probe, targetA, nil, false)
	g.wantParked(Forget, first, nil, targetA, false)
	g.wantParked(Forget, second, nil, targetA, false)
	g.gotThrough(probe)
	page := g.readBack()
	g.step(BackEnded{Gate: page.Gate, UpTo: first.Position()})
	page = g.readBack() // behind all that is in memory
	g.leaves(older)
	g.hasLeft(older)
	g.wantParked(Forget, younger, nil, targetA, false)
	g.wantBothInTurn(page)
}
