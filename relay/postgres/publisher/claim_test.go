package publisher

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"
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
	c := f.claim(100, 100)
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

// A row that is too far behind what others have to be counted is not published.
func TestNearClaimLeavesAloneWhatItCannotCount(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(1, nearSight+2)
	f.append(list...)
	if others := f.claim(100, nearSight+1); len(others.rows) != nearSight+1 {
		t.Fatalf("another has %d rows, want all but the last", len(others.rows))
	}
	c := f.claim(0, 1)
	if len(c.rows) != 1 || c.rows[0].id != list[len(list)-1].id || c.rows[0].place != 0 {
		t.Errorf("claimed are %v, want the last alone, without a place", c.rows)
	}
	if runs := plan(c.rows, 10, 0).runs; len(runs) != 0 {
		t.Errorf("may go: %v", runs)
	}
}

// claim makes one, whose transaction ends with the test.
func (f *fixture) claim(window, batch int) claim {
	f.Helper()
	return f.claimAs(window, batch, true)
}

// claimAs makes one with or without the optional index.
func (f *fixture) claimAs(window, batch int, indexed bool) claim {
	f.Helper()
	tx, err := begin(f.Context(), f.pool, window, indexed)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { tx.end(context.Background()) })
	c, err := claimRows(f.Context(), tx, batch, 10, nil)
	if err != nil {
		f.Fatal(err)
	}
	return c
}

// A near claim locks what nobody has, and publishes nothing of an aggregate whose head another has.
func TestNearClaimCountsWhatOthersHave(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(3, 3)
	f.append(list...)
	f.append(events(4, 1)...)
	holder, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback(context.Background())
	if _, err := holder.Exec(t.Context(), "SELECT FROM outbox_events WHERE id = ANY ($1) FOR UPDATE", []uuid.UUID{list[0].id, list[4].id}); err != nil {
		t.Fatal(err)
	}
	c := f.claim(0, 7)
	if len(c.rows) != 7 || !c.more {
		t.Errorf("%d rows are claimed, more is %v; want the 7 that nobody has", len(c.rows), c.more)
	}
	places := map[uuid.UUID]int64{}
	for _, r := range c.rows {
		places[r.id] = r.place
	}
	for i, e := range list {
		if want := int64(i/3 + 1); i != 0 && i != 4 && places[e.id] != want {
			t.Errorf("row %d has place %d, want %d", i, places[e.id], want)
		}
	}
	var got []uuid.UUID
	for _, rows := range plan(c.rows, 10, 0).runs {
		for _, r := range rows {
			got = append(got, r.id)
		}
	}
	if !c.alone {
		t.Error("the two rows of another are taken for more than a round beside this one")
	}
	if beside := f.claim(0, 2); beside.alone {
		t.Error("two more rounds are not seen")
	}
	// Nothing of the first aggregate, the head alone of the second, all of the third.
	if want := []uuid.UUID{list[1].id, list[2].id, list[5].id, list[8].id}; !slices.Equal(got, want) {
		t.Errorf("may go: %v, want %v", got, want)
	}
}
