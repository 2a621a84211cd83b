package inbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

func TestNothingIsLostWithoutDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{}))
		m, b := event(t, "acc-1", 1), broker{}
		b.deliver(t.Context(), box, did.handler(func(e *inbox.Event) error {
			if e.Attempt <= 20 {
				return errBroken
			}
			return nil
		}), m)
		b.wait()
		if n := len(did.of(m)); n != 21 {
			t.Errorf("tried %d times, want until it succeeds", n)
		}
	})
}

func TestDeadLetterQueueIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		dead := graveyard{fail: errBroken}
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead, Delays: []time.Duration{time.Second}, MaxTries: 2}))
		m, b := event(t, "acc-1", 1), broker{backoff: time.Second}
		b.deliver(t.Context(), box, did.handler(always), m)
		pass(time.Hour)
		dead.mu.Lock()
		dead.fail = nil
		dead.mu.Unlock()
		b.wait()
		if n, letters := len(did.of(m)), len(dead.all()); n != 2 || letters != 1 {
			t.Errorf("tried %d times and %d dead letters, want 2 and 1", n, letters)
		}
	})
}

func TestReplayReachesItsConsumerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var billing, mail effects
		var dead graveyard
		store := inbox.NewMemory()
		one := inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: &dead}))
		two := inbox.New(store, "mail", quiet(inbox.Options{DeadLetters: &dead}))
		m := event(t, "acc-1", 1)
		mended := false
		handler := billing.handler(func(*inbox.Event) error {
			if mended {
				return nil
			}
			return errBroken
		})
		b := broker{}
		b.deliver(t.Context(), one, handler, m)
		b.wait()
		if !one.Deliver(t.Context(), m.data, m.attributes, handler) {
			t.Error("a duplicate of a dead event is given back")
		}
		mended = true
		m.attributes[contracts.AttrConsumer] = "billing"
		for range 2 {
			if !one.Deliver(t.Context(), m.data, m.attributes, handler) || !two.Deliver(t.Context(), m.data, m.attributes, mail.handler(nil)) {
				t.Error("the replay is given back")
			}
		}
		if n, m := len(billing.of(m)), len(mail.of(m)); n != 6 || m != 0 {
			t.Errorf("handled %d and %d times, want 5 failures and one replay, and none", n, m)
		}
	})
}
