package main

import (
	"encoding/json"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/restore"
	"outboxrelay/contracts"
)

// A bulk replay whose state another version wrote would go on under that one: it is counted and ended
// as one that runs, and one that has ended stays as it is.
func TestRestoreEndsBulkReplaysInAStateThatItDoesNotKnow(t *testing.T) {
	a := openArchive(t)
	for id, state := range map[string]string{"another": "paused", "runs": "running", "ended": "done"} {
		a.set(contracts.CollectionReplays, id, map[string]any{"state": state, "createdAt": a.at.Add(-time.Hour), "by": "bob@example.com", "total": 3})
	}
	looked := a.restore("--as", "delivered", "--dry-run", "--json")
	var report restore.Report
	if err := json.Unmarshal([]byte(looked.stdout), &report); err != nil {
		t.Fatalf("%+v: %v", looked, err)
	}
	if report.Bulks != 2 {
		t.Errorf("the look found %d bulk replays that would go on, want 2", report.Bulks)
	}
	a.decided("--as", "delivered")
	for id, want := range map[string]string{"another": "cancelled", "runs": "cancelled", "ended": "done"} {
		snap, err := a.docs.Collection(contracts.CollectionReplays).Doc(id).Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := snap.Data()["state"]; got != want {
			t.Errorf("bulk replay %s is %v, want %s", id, got, want)
		}
	}
}
