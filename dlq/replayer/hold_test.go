package replayer_test

import (
	"context"
	"sync"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	"outboxrelay/dlq/replayer"
)

// TestWhatWaitsForATargetSaysSo: each replay that somebody asked for, also those that were
// not tried, as nothing is tried with a target that cannot be reached; and no other.
func TestWhatWaitsForATargetSaysSo(t *testing.T) {
	f := setup(t)
	asked := f.Reviewable(3)
	scheduled := f.Die("wsOutbox", "TaskCompleted", "task", 1)
	for _, i := range asked {
		f.Decide(i.ID, dlq.Replay, dlqtest.Operator)
	}
	out := &unreachable{Lanes: f.Lanes}
	f.Start(dlqtest.Replays(f.Queue, out, f.Config))
	f.Start(dlqtest.Replayer(f.Queue, out, f.Config))
	for _, i := range asked {
		f.Eventually("it says what it waits for", func() bool {
			return f.Item(i.ID).Replaying.Waits.Equal(dlq.WaitsForTargets([]string{"FUNNEL"}))
		})
	}
	noted := f.Item(asked[0].ID).UpdateTime
	before := out.asked.Load()
	f.Eventually("it is asked again and again whether the target can be reached", func() bool { return out.asked.Load() > before+10 })
	if !f.Item(asked[0].ID).UpdateTime.Equal(noted) {
		t.Error("what it waits for was written more than once")
	}
	if i := f.Item(scheduled.ID); i.Replaying != nil {
		t.Errorf("%+v was noted on one that nobody asked for", i.Replaying)
	}
	out.well.Store(true)
	f.Queue.Ring(dlq.BellReplays)
	for _, i := range asked {
		if got := f.Reaches(i.ID, contracts.DeadReplayed); got.Replaying != nil {
			t.Errorf("it was delivered and has %+v", got.Replaying)
		}
	}
}

// holding is a queue whose notes wait until it is opened.
type holding struct {
	*dlq.Queue
	open chan struct{}

	mu            sync.Mutex
	running, most int
}

func (h *holding) notes() (now, most int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running, h.most
}

func (h *holding) Hold(ctx context.Context, item *dlq.Item, w dlq.Waits) error {
	h.mu.Lock()
	h.running++
	h.most = max(h.most, h.running)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.running--
	}()
	select {
	case <-h.open:
	case <-ctx.Done():
	}
	return h.Queue.Hold(ctx, item, w)
}

// A note reads its whole dead letter: a target that goes out has a few written at a time.
func TestNotesAtOnceAreFew(t *testing.T) {
	f := setup(t)
	asked := f.Reviewable(50)
	for _, i := range asked {
		f.Decide(i.ID, dlq.Replay, dlqtest.Operator)
	}
	queue := &holding{Queue: f.Queue, open: make(chan struct{})}
	r, err := replayer.New(queue, &unreachable{Lanes: f.Lanes}, contracts.ReviewRequired, replayer.Config{Config: f.Config.Config, Concurrency: 4, PauseMin: f.Config.PauseMin, PauseMax: f.Config.PauseMax})
	f.Start(r, err)
	f.Eventually("as many are written as may be", func() bool { now, _ := queue.notes(); return now == 16 })
	close(queue.open)
	for _, i := range asked {
		f.Eventually("it says what it waits for", func() bool { return f.Item(i.ID).Replaying.Waits.Tells() })
	}
	if _, most := queue.notes(); most > 16 {
		t.Errorf("%d notes were written at once", most)
	}
}

// Groups count by the error of the last failed attempt: a replay that fails in another way
// moves its dead letter to the group of that.
func TestAFailedReplayMovesItToTheGroupOfItsError(t *testing.T) {
	f := setup(t)
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, n int) (dlq.Round, error) {
		e := contracts.AttemptError{At: i.DeadAt, Attempt: i.Replays + 1, Target: i.PendingTargets[0], Code: "PermissionDenied", Message: "no access any more"}
		return dlq.Round{Missing: i.PendingTargets, Failed: []contracts.AttemptError{e}}, nil
	})
	i := f.Reviewable(1)[0]
	f.Review()
	for replays := 1; replays <= 2; replays++ {
		f.Decide(i.ID, dlq.Replay, dlqtest.Operator)
		f.Eventually("it failed", func() bool { return f.Item(i.ID).Replays == replays })
		groups, err := f.Queue.Groups(t.Context(), dlq.Filter{}, dlq.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if len(groups.Items) != 1 || groups.Items[0].Code != "PermissionDenied" || groups.Items[0].Error != "no access any more" {
			t.Errorf("after %d replays the groups are %+v, want that of its last error", replays, groups.Items)
		}
	}
}
