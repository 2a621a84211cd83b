package postgres_test

import (
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts/inbox"
)

// What a newer version made of an event, before it was rolled back, nobody here knows: it may
// have been handled.
func TestEventInAStateOfANewerVersionIsNotHandled(t *testing.T) {
	store, pool := open(t)
	ask := claimed(t, store, newAsk(time.Hour))
	for _, sql := range []string{
		"ALTER TABLE inbox_events DROP CONSTRAINT inbox_events_state_check", // as the newer version's schema does, in its way
		"UPDATE inbox_events SET state = 'superseded'",
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	ask.Token = "another"
	if c, err := store.Claim(t.Context(), ask); err != nil || c.Verdict != inbox.Busy {
		t.Errorf("got %v, %v, want it busy", c.Verdict, err)
	}
	if already, err := store.CheckAndMarkProcessed(t.Context(), ask.Consumer, ask.EventID, time.Hour); already || err == nil || !strings.Contains(err.Error(), `"superseded"`) {
		t.Errorf("already processed is %v and %v, want an error that names the state", already, err)
	}
	if _, err := pool.Exec(t.Context(), "UPDATE inbox_events SET expires_at = now()"); err != nil {
		t.Fatal(err)
	}
	if already, err := store.CheckAndMarkProcessed(t.Context(), ask.Consumer, ask.EventID, time.Hour); already || err != nil {
		t.Errorf("already processed is %v and %v, want that it is forgotten once its time is over", already, err)
	}
}
