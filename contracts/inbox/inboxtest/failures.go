package inboxtest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

func failureCounted(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	s.want(a, inbox.Claimed)
	s.giveBack(a, "Broken", long)
	s.giveBack(a, "Broken", long) // again, as its answer may have been lost
	s.lost("settle what was given back", s.store.Settle(t.Context(), a.Ref, inbox.EndProcessed, long))
	c := s.want(another(a), inbox.Early)
	if c.Wait <= long/2 || c.Wait > long {
		t.Errorf("wait is %v, want %v", c.Wait, long)
	}
	if c.Failures != 1 {
		t.Errorf("%d failures, want 1", c.Failures)
	}
	if diff := cmp.Diff([]contracts.AttemptError{failure("Broken")}, c.Errors); diff != "" {
		t.Error(diff)
	}
	b := s.ask("agg-b", 1)
	s.want(b, inbox.Claimed)
	s.giveBack(b, "First", short)
	b, _ = s.eventually(b)
	s.giveBack(b, "Second", short)
	b, c = s.eventually(b)
	if diff := cmp.Diff([]contracts.AttemptError{failure("First"), failure("Second")}, c.Errors); diff != "" || c.Failures != 2 {
		t.Errorf("%d failures, want 2; errors %s", c.Failures, diff)
	}
	s.settle(b, inbox.EndProcessed)
}

func givenBack(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	s.want(a, inbox.Claimed)
	s.giveBack(a, "", 0)
	if c := s.want(another(a), inbox.Claimed); c.Failures != 0 || len(c.Errors) != 0 || c.Takeovers != 0 {
		t.Errorf("got %+v, want no failure", c)
	}
}

func latestErrors(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	for n := range inbox.MaxErrors + 2 {
		a = another(a)
		s.want(a, inbox.Claimed)
		s.giveBack(a, fmt.Sprintf("E%d", n), 0)
	}
	c := s.want(another(a), inbox.Claimed)
	if c.Failures != inbox.MaxErrors+2 || len(c.Errors) != inbox.MaxErrors || c.Errors[0].Code != "E2" {
		t.Errorf("%d failures, %d errors from %v on; want %d, %d, E2", c.Failures, len(c.Errors), c.Errors, inbox.MaxErrors+2, inbox.MaxErrors)
	}
}
