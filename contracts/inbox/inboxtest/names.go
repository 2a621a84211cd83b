package inboxtest

import (
	"strings"
	"testing"

	"outboxrelay/contracts/inbox"
)

func oddNames(_ *testing.T, s *suite) {
	for _, name := range []string{
		"a:b", "a", "a:", ":a", "a/b", "a%2Fb", ".", "..", "__a__", `"'\`, "ümläut ✓ 日本", "{tag}", "*", strings.Repeat("x", 1024),
	} {
		a, b := s.ask(name, 1), s.ask(name, 2)
		a.EventID = "event " + name
		s.want(a, inbox.Claimed)
		s.want(b, inbox.Behind)
		s.giveBack(a, "Broken", 0)
		s.want(b, inbox.Behind)
		a = another(a)
		s.want(a, inbox.Claimed)
		s.settle(a, inbox.EndProcessed)
		s.want(another(a), inbox.Processed)
		s.want(b, inbox.Claimed)
	}
}
