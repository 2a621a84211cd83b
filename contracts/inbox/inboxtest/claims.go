package inboxtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"outboxrelay/contracts/inbox"
)

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

// repeatedLate has a claim repeated after most of its lease, as its answer came late: an older event of the aggregate
// that was taken up meanwhile is no matter.
func repeatedLate(t *testing.T, s *suite) {
	a := s.ask("agg", 2)
	a.Lease = long / 4
	s.want(a, inbox.Claimed)
	s.want(s.ask("agg", 1), inbox.Claimed)
	a.Lease = long // what the repetition asks for
	if c := s.want(a, inbox.Claimed); c.Takeovers != 0 {
		t.Errorf("a repeated claim is counted as %d takeovers", c.Takeovers)
	}
	if c := s.want(another(a), inbox.Busy); c.Wait <= long/2 || c.Wait > long {
		t.Errorf("wait is %v, want the whole lease of the repetition", c.Wait)
	}
	s.settle(a, inbox.EndProcessed)
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

// manyAtOnce has many claim, and each of them an event of another aggregate.
func manyAtOnce(t *testing.T, s *suite) {
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			a := s.ask(fmt.Sprintf("agg-%d", n), 2)
			c, err := s.store.Claim(ctx, a)
			if err != nil || c.Verdict != inbox.Claimed {
				t.Errorf("claim: %v, %v; want it claimed", c.Verdict, err)
				return
			}
			if err := s.store.Settle(ctx, a.Ref, inbox.EndProcessed, long); err != nil {
				t.Errorf("settle: %v", err)
			}
		})
	}
	wg.Wait()
}
