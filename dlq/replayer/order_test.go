package replayer_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

func TestBlockedOnesDoNotHideOthers(t *testing.T) {
	f := setup(t)
	f.Config.Concurrency = 2
	f.Config.PauseMin, f.Config.PauseMax = time.Hour, time.Hour
	var all []*dlq.Item
	for n := range 20 {
		i := f.Letter("wsOutbox", "TaskDone", "ws", int64(n))
		i.AggregateID = i.EventID
		i.NextReplayAt = i.NextReplayAt.Add(-time.Minute) // before the well one
		all = append(all, i)
	}
	well := f.Letter("tagOutbox", "TagLifecycleEvent", "tag-1", 1)
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.ID == well.ID {
			return dlq.Round{Acked: i.PendingTargets}, nil
		}
		return dlq.Round{Blocked: i.PendingTargets}, nil
	})
	f.Bury(append(all, well)...)
	f.Replayer()
	f.Reaches(well.ID, contracts.DeadReplayed)
}

func TestStuckLaneDoesNotHideOthers(t *testing.T) {
	f := setup(t)
	f.Config.Concurrency = 2
	var all []*dlq.Item
	for n := range 10 {
		i := f.Letter("wsOutbox", "TaskDone", "ws", int64(n))
		i.AggregateID = i.EventID
		i.NextReplayAt = i.NextReplayAt.Add(-time.Minute)
		all = append(all, i)
	}
	other := f.Letter("tagOutbox", "TagLifecycleEvent", "tag-1", 1)
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.ID == other.ID {
			return dlq.Round{Acked: i.PendingTargets}, nil
		}
		<-ctx.Done() // its lane is paused
		return dlq.Round{}, ctx.Err()
	})
	f.Bury(append(all, other)...)
	f.Replayer()
	f.Reaches(other.ID, contracts.DeadReplayed)
	if most := f.Lanes.AtOnce(); most > 3 {
		t.Errorf("%d replays at once, want 2 of each lane", most)
	}
}

func TestYoungerWaitsForOlder(t *testing.T) {
	t.Parallel()
	t.Run("both due", func(t *testing.T) {
		f := setup(t)
		var all []*dlq.Item
		for n := range 5 {
			all = append(all, f.Letter("wsOutbox", "TaskDone", "ws-1", int64(n)))
		}
		all[0].NextReplayAt = all[0].NextReplayAt.Add(time.Second) // the youngest is due first
		slices.Reverse(all)
		f.Bury(all...)
		slices.Reverse(all)
		f.Replayer()
		for _, i := range all {
			f.Reaches(i.ID, contracts.DeadReplayed)
		}
		var want []string
		for _, i := range all {
			want = append(want, i.ID)
		}
		if diff := cmp.Diff(want, f.Lanes.Sequence()); diff != "" {
			t.Errorf("order of replays (-want +got):\n%s", diff)
		}
	})
	t.Run("the older one fails", func(t *testing.T) {
		f := setup(t)
		older, younger := f.Letter("wsOutbox", "TaskDone", "ws-1", 1), f.Letter("wsOutbox", "TaskDone", "ws-1", 2)
		f.Lanes.Follow(func(_ context.Context, i *dlq.Item, round int) (dlq.Round, error) {
			if i.ID == older.ID && round < 3 {
				return dlqtest.Fails(i), nil
			}
			return dlq.Round{Acked: i.PendingTargets}, nil
		})
		f.Bury(younger, older)
		f.Replayer()
		f.Reaches(younger.ID, contracts.DeadReplayed)
		if diff := cmp.Diff([]string{older.ID, older.ID, older.ID, younger.ID}, f.Lanes.Sequence()); diff != "" {
			t.Errorf("order of replays (-want +got):\n%s", diff)
		}
	})
	t.Run("the older one waits for a person", func(t *testing.T) {
		f := setup(t)
		older, younger := f.Letter("orgOutbox", "SkillRecognitionGranted", "org-1", 1), f.Letter("orgOutbox", "MemberJoined", "org-1", 2)
		f.Bury(older, younger)
		f.Replayer()
		f.Eventually("the younger one is deferred", func() bool { return f.Item(younger.ID).NextReplayAt.After(younger.NextReplayAt) })
		if n := f.Lanes.Total(); n != 0 {
			t.Errorf("%d replays, want none", n)
		}
	})
	t.Run("the older one was given up after a day", func(t *testing.T) {
		f := setup(t)
		letter := func(eventType string, version int64) *dlq.Item {
			i := f.Letter("orgOutbox", eventType, "org-1", version)
			i.DeadAt = i.DeadAt.Add(-24 * time.Hour)
			return i
		}
		older := letter("SkillRecognitionGranted", 0)
		var want []string
		all := []*dlq.Item{older}
		for n := range 20 {
			i := letter("MemberJoined", int64(n+1))
			all, want = append(all, i), append(want, i.ID)
		}
		f.Bury(all...)
		f.Replayer()
		f.Eventually("all of them look again in minutes alone", func() bool {
			return !slices.ContainsFunc(want, func(id string) bool { return time.Until(f.Item(id).NextReplayAt) < 5*time.Minute })
		})
		f.Decide(older.ID, dlq.Discard, dlqtest.Operator)
		for _, id := range want {
			f.Reaches(id, contracts.DeadReplayed)
		}
		if diff := cmp.Diff(want, f.Lanes.Sequence()); diff != "" {
			t.Errorf("order of replays (-want +got):\n%s", diff)
		}
	})
}
