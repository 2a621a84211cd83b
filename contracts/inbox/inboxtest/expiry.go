package inboxtest

import (
	"testing"

	"outboxrelay/contracts/inbox"
)

func processedExpires(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	s.want(a, inbox.Claimed)
	if err := s.store.Settle(t.Context(), a.Ref, inbox.EndProcessed, short); err != nil {
		t.Fatal(err)
	}
	if _, c := s.eventually(a); c.Failures != 0 || c.Takeovers != 0 {
		t.Errorf("got %+v, want a new event", c)
	}
}

func openExpires(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	a.Keep = short
	s.want(a, inbox.Claimed)
	s.eventually(s.ask("agg", 2))
	if c := s.want(another(a), inbox.Claimed); c.Takeovers != 0 {
		t.Errorf("got %+v, want a new event", c)
	}
}
