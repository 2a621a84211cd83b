package inbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts/inbox"
)

func TestDuplicatesHaveNoEffect(t *testing.T) {
	var did effects
	box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{}))
	m := event(t, "acc-1", 1)
	for range 3 {
		if !box.Deliver(t.Context(), m.data, m.attributes, did.handler(nil)) {
			t.Error("it is given back, want it acknowledged")
		}
	}
	if n := len(did.of(m)); n != 1 {
		t.Errorf("handled %d times, want once", n)
	}
	other := inbox.New(inbox.NewMemory(), "mail", quiet(inbox.Options{}))
	if !other.Deliver(t.Context(), m.data, m.attributes, did.handler(nil)) || len(did.of(m)) != 2 {
		t.Error("another consumer did not handle it")
	}
}

func TestDuplicateWaitsWhileTheFirstIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 3 * time.Second
		var did effects
		store := inbox.NewMemory()
		m := event(t, "acc-1", 1)
		start, b := time.Now(), broker{}
		ended := make(chan time.Duration, 5)
		for range cap(ended) { // each in a process of its own
			box := inbox.New(store, "billing", quiet(inbox.Options{}))
			b.wg.Go(func() {
				ack := box.Deliver(t.Context(), m.data, m.attributes, did.handler(func(*inbox.Event) error {
					pass(takes)
					return nil
				}))
				if !ack {
					t.Error("it is given back, want it acknowledged")
				}
				ended <- time.Since(start)
			})
		}
		b.wait()
		if n := len(did.of(m)); n != 1 {
			t.Errorf("handled %d times, want once", n)
		}
		for range cap(ended) {
			if after := <-ended; after < takes {
				t.Errorf("a duplicate is acknowledged after %v, before the first was handled", after)
			}
		}
	})
}
