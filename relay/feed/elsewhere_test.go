package feed

import (
	"testing"

	"outboxrelay/contracts"
)

// What somebody else settled is not delivered by what was read before that, and not
// taken again from an older page; what is written after it is.
func TestWhatWasSettledElsewhereIsLetGo(t *testing.T) {
	g := newGated(t)
	r := g.take(1)
	changed := r.UpdateTime
	g.step(Elsewhere{ID: r.ID, At: changed})
	if r.Over() {
		t.Error("it is over by what it was read as")
	}
	over := changed.Add(1000)
	g.step(Elsewhere{ID: r.ID, At: over})
	if got := g.becomes(Turn{Record: r}); got != LetGo || g.machine.Size() != 0 {
		t.Errorf("it becomes %d, and %d are in memory; want that it is let go of", got, g.machine.Size())
	}
	judged := func(s Sight) Judgement {
		j, _ := g.machine.Judge(s, contracts.StandardLane)
		return j
	}
	if s := r.Sight; judged(s) != Known {
		t.Error("what was read before is taken again")
	}
	again := r.Sight
	again.UpdateTime = over
	if judged(again) != Unknown {
		t.Error("what was written since is not taken")
	}
}

// While its own settlement is being written, the answer to that says what became of it.
func TestWhatIsBeingWrittenIsLeftToItsAnswer(t *testing.T) {
	g := newGated(t)
	r := g.take(1)
	g.step(Settle{&Settlement{Record: r, Kind: Mark}})
	if g.step(Elsewhere{ID: r.ID, At: r.UpdateTime.Add(1000)}); r.Over() {
		t.Error("it is over")
	}
}
