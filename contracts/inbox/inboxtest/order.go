package inboxtest

import (
	"fmt"
	"testing"

	"outboxrelay/contracts/inbox"
)

func behind(t *testing.T, s *suite) {
	first, second, third := s.ask("agg", 5), s.ask("agg", 6), s.ask("agg", 7)
	s.want(first, inbox.Claimed)
	if c := s.want(second, inbox.Behind); c.Failing || c.Wait <= long/2 {
		t.Errorf("got %+v, want it behind one that is being handled, for as long as its lease", c)
	}
	s.giveBack(first, "Broken", long)
	if c := s.want(second, inbox.Behind); !c.Failing || c.Wait <= long/2 {
		t.Errorf("got %+v, want it behind a failing one, until its next try", c)
	}
	s.want(third, inbox.Behind)
	s.want(s.ask("other", 9), inbox.Claimed)
	older, same := s.ask("agg", 4), s.ask("agg", 5)
	s.want(older, inbox.Claimed)
	s.settle(older, inbox.EndProcessed)
	s.want(same, inbox.Claimed)
	s.settle(same, inbox.EndProcessed)
	elsewhere := s.ask("agg", 6)
	elsewhere.Consumer += "-other"
	s.want(elsewhere, inbox.Claimed)

	b := s.ask("soon", 1)
	s.want(b, inbox.Claimed)
	s.giveBack(b, "Broken", short)
	next := s.ask("soon", 2)
	b, _ = s.eventually(b)
	s.want(next, inbox.Behind)
	s.settle(b, inbox.EndProcessed)
	s.want(next, inbox.Claimed)
}

func deadHoldsNothing(_ *testing.T, s *suite) {
	first, second := s.ask("agg", 1), s.ask("agg", 2)
	s.want(first, inbox.Claimed)
	s.settle(first, inbox.EndDead)
	s.want(another(first), inbox.Dead)
	s.want(second, inbox.Claimed)
}

func versions(_ *testing.T, s *suite) {
	for _, v := range [][2]int64{{9, 10}, {99, 100}, {9007199254740992, 9007199254740993}, {0, 9223372036854775807}} {
		aggregate := fmt.Sprint("agg-", v[0])
		low, high := s.ask(aggregate, v[0]), s.ask(aggregate, v[1])
		s.want(low, inbox.Claimed)
		s.want(high, inbox.Behind)
		s.settle(low, inbox.EndProcessed)
		s.want(high, inbox.Claimed)
		s.want(s.ask(aggregate, v[0]), inbox.Claimed) // which does not wait for a higher one
	}
}

// alikeAggregates claims an event of each of several aggregates whose names could be taken for
// each other where a store escapes what it cannot have in a name.
func alikeAggregates(_ *testing.T, s *suite) {
	for i, aggregate := range []string{"a/b", "a%2Fb", "a%252Fb", "a", "a/", "a%2F", "%", "%25", "a:b", "a\x1fb"} {
		s.want(s.ask(aggregate, int64(i+1)), inbox.Claimed)
	}
	s.want(s.ask("a/b", 2), inbox.Behind)
	s.want(s.ask("a%2Fb", 3), inbox.Behind)
}
