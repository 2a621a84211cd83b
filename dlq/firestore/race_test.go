package firestore_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// race makes n decisions at once, each by a process of its own, and returns
// those that succeeded. All others must be refused: as conflicts, or because the
// matter was changed.
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
		if r, ok := errors.AsType[*dlq.Refusal](err); !ok || r.Kind != dlq.Conflict && r.Kind != dlq.Changed {
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
	if got.Replaying == nil || got.Replaying.ID != got.Decisions[0].ID || !got.Due(got.UpdateTime) { // by the server's clock
		t.Errorf("got %+v, want it to be replayed now", got)
	}
}

// A dead letter whose replay was asked for can still be given up, the other way
// round it cannot. So one discard goes through, and a replay only before it.
func testReplayDiscardRace(t *testing.T, f *fixture) {
	for round := range 6 {
		i := f.die("accOutbox", "WalletDeducted", "a1", 1)
		actions := []dlq.Action{dlq.Replay, dlq.Discard}
		won := f.race(10, func(q *dlq.Queue, n int) error {
			_, err := q.Decide(t.Context(), i.ID, dlq.Decide{Action: actions[(round+n)%2], Actor: operator, Reason: "it is time"})
			return err
		})
		got := f.item(i.ID)
		var decided []dlq.Action
		for _, d := range got.Decisions {
			decided = append(decided, d.Action)
		}
		if !slices.Equal(decided, actions) && !slices.Equal(decided, actions[1:]) || len(won) != len(decided) {
			t.Errorf("%v won, decisions %v, want a discard, after a replay or by itself", won, decided)
		}
		if got.State != contracts.DeadDiscarded || got.Replaying != nil {
			t.Errorf("got %s, replaying %v, want it discarded", got.State, got.Replaying)
		}
	}
}

func testReleaseRace(t *testing.T, f *fixture) {
	f.die("accOutbox", "RoleChanged", "a1", 1)
	won := f.race(10, func(q *dlq.Queue, _ int) error {
		_, err := q.Release(t.Context(), "a1", dlq.Release{Actor: security, Reason: "checked"})
		return err
	})
	entries := f.entries("a1")
	if len(won) != 1 || len(entries) != 2 {
		t.Errorf("%d won, %d audit entries, want 1 and 2: the freeze and the release", len(won), len(entries))
	}
}

// Two instances may replay one dead letter, as when a deploy rolls. Its end is
// noted once.
func testEndRace(t *testing.T, f *fixture) {
	i := f.die("accOutbox", "WalletDeducted", "a1", 1)
	f.decide(i.ID, dlq.Replay, operator)
	i = f.item(i.ID)
	won := f.race(20, func(q *dlq.Queue, n int) error {
		r := dlq.Result{Acked: i.PendingTargets}
		if n%2 == 1 {
			r = dlq.Result{Errors: []contracts.AttemptError{{At: f.now, Target: "FUNNEL_CRITICAL", Code: "Internal", Message: "no"}}}
		}
		_, err := q.End(t.Context(), i, r)
		return err
	})
	got := f.item(i.ID)
	if len(won) != 1 || got.Replays != 1 || len(f.entries(i.ID)) != 2 {
		t.Fatalf("%d ends, %d replays, %d audit entries, want 1, 1 and 2: the request and the end", len(won), got.Replays, len(f.entries(i.ID)))
	}
	if delivered := won[0]%2 == 0; delivered == dlq.Open(got.State) || got.LastReplay.Delivered != delivered {
		t.Errorf("end %d won, and the dead letter is %s", won[0], got.State)
	}
}

func testLaneRace(t *testing.T, f *fixture) {
	for n, paused := range []bool{true, false, true} {
		won := f.race(10, func(q *dlq.Queue, _ int) error {
			_, err := q.SetLane(t.Context(), contracts.CriticalLane, paused, operator, "it is time")
			return err
		})
		if entries := f.entries(string(contracts.CriticalLane)); len(won) != 1 || len(entries) != n+1 {
			t.Errorf("%d won, %d audit entries, want 1 and %d", len(won), len(entries), n+1)
		}
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
