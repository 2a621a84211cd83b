package publisher

import (
	"context"
	"testing"
)

// Whoever has the head of an aggregate has the aggregate: another claim leaves the rows behind it
// alone, and unlocked.
func TestClaimLeavesAloneWhoseHeadIsLocked(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	mine, others := events(1, 4), events(2, 4)[1:]
	f.append(mine...)
	f.append(others...)
	holder, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback(context.Background())
	if _, err := holder.Exec(t.Context(), "SELECT FROM outbox_events WHERE id = $1 FOR UPDATE", mine[0].id); err != nil {
		t.Fatal(err)
	}
	tx, err := begin(t.Context(), f.pool)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.end(context.Background())
	c, err := claimRows(t.Context(), tx, 100, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.rows) == 0 {
		t.Error("the other aggregate is not claimed")
	}
	for _, r := range c.rows {
		if r.aggregate.id == mine[0].aggregate {
			t.Errorf("the claim has place %d of the aggregate, whose head another has", r.place)
		}
	}
	for _, e := range mine[1:] {
		if _, err := holder.Exec(t.Context(), "SELECT FROM outbox_events WHERE id = $1 FOR UPDATE NOWAIT", e.id); err != nil {
			t.Fatalf("a row behind the head is locked: %v", err)
		}
	}
}
