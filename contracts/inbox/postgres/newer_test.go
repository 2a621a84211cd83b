package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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

// One whose time is over between the two looks was left alone by the first: it is not marked,
// and nobody may be told that it was processed.
func TestTimeOfANewerVersionsStateIsOverMeanwhile(t *testing.T) {
	store, pool := openAs(t, func(c *pgx.ConnConfig) { c.RuntimeParams["search_path"] = "public, pg_catalog" }) // whose clock is the test's
	ask := claimed(t, store, newAsk(time.Hour))
	for _, sql := range []string{
		"ALTER TABLE inbox_events DROP CONSTRAINT inbox_events_state_check",
		"UPDATE inbox_events SET state = 'superseded', expires_at = '2000-01-01 03:30Z'",
		"CREATE SEQUENCE looks",
		`CREATE FUNCTION clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS
			$$ SELECT timestamptz '2000-01-01 00:00Z' + nextval('looks') * interval '1 hour' $$`, // two for the new row, one for the old, and what comes after
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if already, err := store.CheckAndMarkProcessed(t.Context(), ask.Consumer, ask.EventID, time.Hour); already || err == nil || !strings.Contains(err.Error(), `"superseded"`) {
		t.Errorf("already processed is %v and %v, want an error that names the state", already, err)
	}
}
