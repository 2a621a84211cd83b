package publisher

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
)

// A transaction that commits late, with an older time than what is published already, is published when it is
// seen. What came after it within its aggregate waits for it from then on.
func TestLateCommit(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	late, early, next := uuid.New(), uuid.New(), uuid.New()
	if _, err := tx.Exec(t.Context(), insertSQL, late, numbered(1), nil); err != nil {
		t.Fatal(err)
	}
	f.append(event{id: early, aggregate: numbered(1)})
	f.start(f.options())
	f.await("what is committed is published", func() bool { return f.count("id = $1 AND published_at IS NOT NULL", early) == 1 })
	f.shelf.failing(func(id uuid.UUID, try int) error {
		if id == late && try < 4 {
			return errRefused
		}
		return nil
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.append(event{id: next, aggregate: numbered(1)})
	f.awaitPublished()
	f.judge([]event{{id: early, aggregate: numbered(1)}, {id: late, aggregate: numbered(1)}, {id: next, aggregate: numbered(1)}})
}

// While one publisher has rows of an aggregate, another has the late one in front of them, and nothing
// that is behind it.
func TestLateCommitBesideAnotherPublisher(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	now := time.Now()
	list := []event{
		{id: uuid.New(), aggregate: numbered(1), createdAt: now},
		{id: uuid.New(), aggregate: numbered(1), createdAt: now.Add(time.Second)},
	}
	f.append(list...)
	if mine := f.claim(40, 10); len(mine.rows) != 2 {
		t.Fatalf("claimed %d rows, want both", len(mine.rows))
	}
	late := event{id: uuid.New(), aggregate: numbered(1), createdAt: now.Add(-time.Second)}
	f.append(late)
	others := f.claim(40, 10)
	if runs := plan(others.rows, 10, 0).runs; len(runs) != 1 || len(runs[0]) != 1 || runs[0][0].id != late.id {
		t.Errorf("another publishes %v, want the late one alone", runs)
	}
}

// The clocks of producers differ, and none of them is the publisher's: rows of a time to come are published
// now, by the order of their times.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	now := time.Now()
	list := []event{
		{id: uuid.New(), aggregate: numbered(1), createdAt: now.Add(-24 * time.Hour)},
		{id: uuid.New(), aggregate: numbered(1), createdAt: now},
		{id: uuid.New(), aggregate: numbered(1), createdAt: now.Add(24 * time.Hour)},
	}
	f.append(list[2], list[0], list[1])
	f.start(f.options())
	f.awaitPublished()
	f.judge(list)
}

// Rows of one time go in the order of their IDs.
func TestSameTime(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	now := time.Now()
	var list []event
	for i := range 100 {
		list = append(list, event{id: uuid.UUID{1, byte(i)}, aggregate: numbered(1), createdAt: now})
	}
	f.append(list[50:]...)
	f.append(list[:50]...)
	f.start(f.options())
	f.awaitPublished()
	f.judge(list)
}
