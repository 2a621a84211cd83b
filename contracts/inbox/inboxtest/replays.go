package inboxtest

import (
	"testing"

	"outboxrelay/contracts/inbox"
)

func replayed(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	s.want(a, inbox.Claimed)
	s.giveBack(a, "Broken", 0)
	a = another(a)
	s.want(a, inbox.Claimed)
	s.settle(a, inbox.EndDead)
	s.want(another(a), inbox.Dead)
	again := another(a)
	again.Replay = true
	if c := s.want(again, inbox.Claimed); c.Failures != 0 || len(c.Errors) != 0 {
		t.Errorf("got %+v, want its count at zero", c)
	}
	s.want(s.ask("agg", 2), inbox.Behind)
	s.giveBack(again, "Still", 0)
	again = another(again)
	if c := s.want(again, inbox.Claimed); c.Failures != 1 {
		t.Errorf("%d failures of the replay, want 1", c.Failures)
	}
	s.settle(again, inbox.EndProcessed)
	s.want(another(again), inbox.Processed)
}

// A replay that stands behind an older event leaves the dead one as it is.
func replayBehind(t *testing.T, s *suite) {
	second := s.ask("agg", 2)
	s.want(second, inbox.Claimed)
	s.settle(second, inbox.EndDead)
	first := s.ask("agg", 1)
	s.want(first, inbox.Claimed)
	again := another(second)
	again.Replay = true
	s.want(again, inbox.Behind)
	s.want(another(second), inbox.Dead) // the first delivery's duplicate
	s.settle(first, inbox.EndProcessed)
	third := s.ask("agg", 3)
	s.want(third, inbox.Claimed) // what is dead holds nothing back
	s.settle(third, inbox.EndProcessed)
	again = another(again)
	s.want(again, inbox.Claimed)
	s.settle(again, inbox.EndProcessed)
}
