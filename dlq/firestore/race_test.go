package firestore_test

import (
	"errors"
	"sync"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// race makes n decisions at once, each by a process of its own, and returns
// those that succeeded. All others must be refused as conflicts.
func (f *fixture) race(n int, decide func(q *dlq.Queue, n int) error) (won []int) {
	f.t.Helper()
	start := make(chan struct{})
	errs := make([]error, n)
	var wg sync.WaitGroup
	for k := range n {
		q := f.newQueue(f.store)
		wg.Go(func() {
			<-start
			errs[k] = decide(q, k)
		})
	}
	close(start)
	wg.Wait()
	for k, err := range errs {
		if err == nil {
			won = append(won, k)
			continue
		}
		if r, ok := errors.AsType[*dlq.Refusal](err); !ok || r.Kind != dlq.Conflict {
			f.t.Errorf("got %v, want a conflict", err)
		}
	}
	return won
}

func testReplayRace(t *testing.T, f *fixture) {
	i := f.die("accOutbox", "WalletDeducted", "a1", 1)
	won := f.race(50, func(q *dlq.Queue, _ int) error {
		_, err := q.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "try again"})
		return err
	})
	got := f.item(i.ID)
	if len(won) != 1 || len(got.Decisions) != 1 || len(f.entries(i.ID)) != 1 {
		t.Errorf("%d won, %d decisions, %d audit entries, want 1 of each", len(won), len(got.Decisions), len(f.entries(i.ID)))
	}
	if got.Replaying == nil || got.Replaying.ID != got.Decisions[0].ID || !got.Due(f.now) {
		t.Errorf("got %+v, want it to be replayed now", got)
	}
}

func testReplayDiscardRace(t *testing.T, f *fixture) {
	for range 5 {
		i := f.die("accOutbox", "WalletDeducted", "a1", 1)
		actions := []dlq.Action{dlq.Replay, dlq.Discard}
		won := f.race(10, func(q *dlq.Queue, n int) error {
			_, err := q.Decide(t.Context(), i.ID, dlq.Decide{Action: actions[n%2], Actor: operator, Reason: "it is time"})
			return err
		})
		got := f.item(i.ID)
		if len(won) != 1 || len(got.Decisions) != 1 || got.Decisions[0].Action != actions[won[0]%2] {
			t.Fatalf("%v won, decisions %v, want one and its decision", won, got.Decisions)
		}
		if discarded := got.State == contracts.DeadDiscarded; discarded == (got.Replaying != nil) || discarded == dlq.Open(got.State) {
			t.Errorf("got %s, replaying %v, want either", got.State, got.Replaying)
		}
		if got.Replaying != nil {
			f.end(i.ID) // the next of this aggregate is not behind it
		}
	}
}

func testReleaseRace(t *testing.T, f *fixture) {
	f.die("accOutbox", "RoleChanged", "a1", 1)
	won := f.race(10, func(q *dlq.Queue, _ int) error {
		_, err := q.Release(t.Context(), "a1", security, "checked")
		return err
	})
	entries := f.entries("a1")
	if len(won) != 1 || len(entries) != 2 {
		t.Errorf("%d won, %d audit entries, want 1 and 2: the freeze and the release", len(won), len(entries))
	}
}

// TestNotesRace: decisions that do not exclude each other all succeed.
func TestNotesRace(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("accOutbox", "WalletDeducted", "a1", 1)
	won := f.race(20, func(q *dlq.Queue, _ int) error {
		_, err := q.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Note, Actor: operator, Reason: "seen"})
		return err
	})
	if got := f.item(i.ID); len(won) != 20 || len(got.Decisions) != 20 || len(f.entries(i.ID)) != 20 {
		t.Errorf("%d won, %d decisions, %d audit entries, want 20 of each", len(won), len(got.Decisions), len(f.entries(i.ID)))
	}
}
