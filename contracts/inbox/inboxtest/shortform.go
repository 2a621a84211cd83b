package inboxtest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"outboxrelay/contracts/inbox"
)

func checkAndMark(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	check := func(want bool, ttl time.Duration, consumer, event string) {
		t.Helper()
		already, err := s.store.CheckAndMarkProcessed(t.Context(), consumer, event, ttl)
		if err != nil || already != want {
			t.Errorf("already processed is %v and %v, want %v", already, err, want)
		}
	}
	check(false, long, a.Consumer, a.EventID)
	check(true, long, a.Consumer, a.EventID)
	check(false, long, a.Consumer+"-other", a.EventID)
	s.want(a, inbox.Processed)
	b := s.ask("agg", 1)
	s.want(b, inbox.Claimed)
	s.settle(b, inbox.EndProcessed)
	check(true, long, b.Consumer, b.EventID)

	brief := s.ask("agg", 1)
	check(false, short, brief.Consumer, brief.EventID)
	s.eventually(brief)
}

func checkAndMarkByMany(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	var wg sync.WaitGroup
	first := make([]int, 12)
	for n := range first {
		wg.Go(func() {
			already, err := s.store.CheckAndMarkProcessed(t.Context(), a.Consumer, a.EventID, long)
			if err != nil {
				t.Errorf("check: %v", err)
			}
			if !already {
				first[n] = 1
			}
		})
	}
	wg.Wait()
	slices.Sort(first)
	if want := append(make([]int, len(first)-1), 1); !cmp.Equal(first, want, cmpopts.EquateEmpty()) {
		t.Errorf("%v were told that they are the first, want one", first)
	}
}

func checkAndMarkNothing(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	for _, ask := range []struct {
		consumer, event string
		ttl             time.Duration
	}{{a.Consumer, a.EventID, 0}, {a.Consumer, a.EventID, -time.Hour}, {a.Consumer, a.EventID, 3600}, {"", a.EventID, long}, {a.Consumer, "", long}} {
		if already, err := s.store.CheckAndMarkProcessed(t.Context(), ask.consumer, ask.event, ask.ttl); already || err == nil {
			t.Errorf("consumer %q, event %q for %v: already processed is %v and %v, want false and an error", ask.consumer, ask.event, ask.ttl, already, err)
		}
	}
	s.want(a, inbox.Claimed)
}
