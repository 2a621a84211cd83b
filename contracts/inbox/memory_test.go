package inbox_test

import (
	"testing"
	"testing/synctest"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/inboxtest"
)

func TestMemoryConforms(t *testing.T) {
	inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: inbox.NewMemory()} })
}

// The memory of events is given back when their time is over.
func TestMemoryForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := inbox.NewMemory()
		for range 1000 {
			for range 10 {
				ask := newAsk()
				if c, err := m.Claim(t.Context(), ask); err != nil || c.Verdict != inbox.Claimed {
					t.Fatal(c, err)
				}
				if err := m.Settle(t.Context(), ask.Ref, inbox.EndProcessed, inbox.DefaultRetention); err != nil {
					t.Fatal(err)
				}
			}
			pass(inbox.DefaultRetention / 100)
		}
		if n := inbox.Remembered(m); n > 1100 {
			t.Errorf("%d events are remembered, want those of the retention: 1000", n)
		}
	})
}
