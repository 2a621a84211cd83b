// Package inboxtest holds every inbox.Store to one behaviour.
package inboxtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// Fixture is a store to test, which may hold what other tests left.
type Fixture struct {
	Store inbox.Store
	// Tick is called before each look of a test that waits for time to pass; nil: time passes
	// by itself.
	Tick func()
}

const (
	long  = time.Hour
	short = 50 * time.Millisecond
	// patience is how long what should come is waited for.
	patience = time.Minute
)

// Conformance runs the suite. open is called once for each of its tests.
func Conformance(t *testing.T, open func(t *testing.T) Fixture) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"a settled event is processed", settled},
		{"one of many claims an event", oneOfMany},
		{"a claim can be repeated", repeated},
		{"a lease runs out", leaseRunsOut},
		{"a failure is counted and kept", failureCounted},
		{"a claim given back is no failure", givenBack},
		{"no more errors are kept than the latest", latestErrors},
		{"an event waits behind an older one", behind},
		{"a dead event holds nothing back", deadHoldsNothing},
		{"versions are compared as numbers", versions},
		{"a dead event can be replayed", replayed},
		{"a processed event is forgotten after its time", processedExpires},
		{"an open event is forgotten after its time", openExpires},
		{"the short form", checkAndMark},
		{"the short form, asked by many", checkAndMarkByMany},
		{"odd names", oddNames},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newSuite(t, open(t))) })
	}
}

type suite struct {
	t        *testing.T
	f        Fixture
	store    inbox.Store
	consumer string
}

func newSuite(t *testing.T, f Fixture) *suite {
	return &suite{t: t, f: f, store: f.Store, consumer: "c-" + uuid.NewString()[:8]}
}

// ask asks for a new event of an aggregate.
func (s *suite) ask(aggregate string, version int64) inbox.Ask {
	return inbox.Ask{
		Ref:         inbox.Ref{Consumer: s.consumer, EventID: uuid.NewString(), Token: uuid.NewString()},
		AggregateID: aggregate, Version: version, Lease: long, Keep: long,
	}
}

// another is the same event asked for by another.
func another(a inbox.Ask) inbox.Ask {
	a.Token = uuid.NewString()
	return a
}

func (s *suite) claim(a inbox.Ask) inbox.Claim {
	s.t.Helper()
	c, err := s.store.Claim(s.t.Context(), a)
	if err != nil {
		s.t.Fatalf("claim: %v", err)
	}
	return c
}

func (s *suite) want(a inbox.Ask, want inbox.Verdict) inbox.Claim {
	s.t.Helper()
	c := s.claim(a)
	if c.Verdict != want {
		s.t.Fatalf("verdict is %v, want %v: %+v", c.Verdict, want, c)
	}
	return c
}

func (s *suite) settle(a inbox.Ask, end inbox.End) {
	s.t.Helper()
	if err := s.store.Settle(s.t.Context(), a.Ref, end, long); err != nil {
		s.t.Fatalf("settle: %v", err)
	}
}

func (s *suite) giveBack(a inbox.Ask, code string, wait time.Duration) {
	s.t.Helper()
	if err := s.store.GiveBack(s.t.Context(), a.Ref, failure(code), wait); err != nil {
		s.t.Fatalf("give back: %v", err)
	}
}

func (s *suite) lost(what string, err error) {
	s.t.Helper()
	if !errors.Is(err, inbox.ErrLost) {
		s.t.Errorf("%s: got %v, want ErrLost", what, err)
	}
}

func failure(code string) contracts.AttemptError {
	if code == "" {
		return contracts.AttemptError{}
	}
	return contracts.AttemptError{
		At: time.Date(2026, 11, 23, 12, 0, 0, 123456000, time.UTC), Attempt: 1, Target: "who", Code: code, Message: "it said \"no\" \u2713 {}\n",
	}
}

// eventually asks, each time as another, until the event is claimed.
func (s *suite) eventually(a inbox.Ask) (inbox.Ask, inbox.Claim) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		if s.f.Tick != nil {
			s.f.Tick()
		}
		a = another(a)
		c := s.claim(a)
		if c.Verdict == inbox.Claimed {
			return a, c
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("verdict stays %v, want it claimed", c.Verdict)
		}
		time.Sleep(short / 5)
	}
}

func settled(_ *testing.T, s *suite) {
	a := s.ask("agg", 1)
	s.want(a, inbox.Claimed)
	s.settle(a, inbox.EndProcessed)
	s.want(another(a), inbox.Processed)
	s.want(a, inbox.Processed)
	s.settle(a, inbox.EndProcessed) // again, as its answer may have been lost
	s.lost("give back what is processed", s.store.GiveBack(s.t.Context(), a.Ref, failure("Late"), 0))
	s.lost("settle another's", s.store.Settle(s.t.Context(), another(a).Ref, inbox.EndDead, long))
	s.want(another(a), inbox.Processed)
	other := another(a)
	other.Consumer += "-other"
	s.want(other, inbox.Claimed)
	s.lost("settle what nobody claimed", s.store.Settle(s.t.Context(), s.ask("agg", 1).Ref, inbox.EndProcessed, long))
}

func oneOfMany(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	var wg sync.WaitGroup
	verdicts := make([]inbox.Verdict, 12)
	for n := range verdicts {
		wg.Go(func() {
			c, err := s.store.Claim(t.Context(), another(a))
			if err != nil {
				t.Errorf("claim: %v", err)
			}
			verdicts[n] = c.Verdict
		})
	}
	wg.Wait()
	slices.Sort(verdicts)
	if verdicts[0] != inbox.Claimed || slices.ContainsFunc(verdicts[1:], func(v inbox.Verdict) bool { return v != inbox.Busy }) {
		t.Errorf("got %v, want one claimed and the others busy", verdicts)
	}
}

func repeated(t *testing.T, s *suite) {
	a := s.ask("agg", 1)
	s.want(a, inbox.Claimed)
	if c := s.want(a, inbox.Claimed); c.Takeovers != 0 {
		t.Errorf("a repeated claim is counted as %d takeovers", c.Takeovers)
	}
	if c := s.want(another(a), inbox.Busy); c.Wait <= long/2 || c.Wait > long {
		t.Errorf("wait is %v, want what is left of the lease", c.Wait)
	}
}

func leaseRunsOut(t *testing.T, s *suite) {
	first := s.ask("agg", 1)
	first.Lease = short
	s.want(first, inbox.Claimed)
	second, c := s.eventually(first)
	if c.Takeovers != 1 {
		t.Errorf("%d takeovers, want 1", c.Takeovers)
	}
	s.lost("settle", s.store.Settle(t.Context(), first.Ref, inbox.EndProcessed, long))
	s.lost("give back", s.store.GiveBack(t.Context(), first.Ref, failure("Late"), 0))
	third, c := s.eventually(second)
	if c.Takeovers != 2 || c.Failures != 0 {
		t.Errorf("%d takeovers and %d failures, want 2 and none", c.Takeovers, c.Failures)
	}
	s.giveBack(third, "", 0)
	fourth, c := s.eventually(third)
	if c.Takeovers != 0 {
		t.Errorf("%d takeovers in a row after an answer, want 0", c.Takeovers)
	}
	s.settle(fourth, inbox.EndProcessed) // whether or not its lease ran out: nobody took it over
}

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
