package inbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts/inbox"
)

// unanswering takes its first claim, and answers none until then.
type unanswering struct {
	inbox.Store
	until time.Time
	taken bool
}

func (s *unanswering) Claim(ctx context.Context, ask inbox.Ask) (inbox.Claim, error) {
	if time.Now().Before(s.until) {
		if !s.taken {
			s.taken = true
			_, _ = s.Store.Claim(ctx, ask)
		}
		return inbox.Claim{}, errors.New("no answer")
	}
	return s.Store.Claim(ctx, ask)
}

// A claim whose answer was lost is known again when the store is back, and its lease is whole then: with what was
// left of it, another would handle the event beside the first.
func TestClaimAnsweredLateIsTheOnlyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		store := inbox.NewMemory()
		slow := did.handler(func(*inbox.Event) error {
			pass(20 * time.Second)
			return nil
		})
		m := event(t, "acc-1", 1)
		first := inbox.New(&unanswering{Store: store, until: time.Now().Add(40 * time.Second)}, "billing", quiet(inbox.Options{}))
		second := inbox.New(store, "billing", quiet(inbox.Options{}))
		b := broker{}
		b.deliver(t.Context(), first, slow, m)
		synctest.Wait() // its claim is in the store
		b.deliver(t.Context(), second, slow, m)
		b.wait()
		if got := did.times(m); len(got) != 1 {
			t.Errorf("the event was handled at %v, want it once", got)
		}
	})
}
