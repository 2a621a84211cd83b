package replayer_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// unreachable are lanes whose targets cannot be reached until they are well, and
// that can tell.
type unreachable struct {
	*dlqtest.Lanes
	asked atomic.Int64
	well  atomic.Bool
}

func (u *unreachable) Reachable(*dlq.Item) bool { u.asked.Add(1); return u.well.Load() }

// TestBacklogOfATargetThatIsOutIsReadOnce: what waits for a target that cannot be
// reached is not read again each time that somebody asks whether it can.
func TestBacklogOfATargetThatIsOutIsReadOnce(t *testing.T) {
	const backlog, bells = 200, 20
	f := setup(t)
	f.Config.Poll = time.Hour
	f.Bury(f.Apart(backlog, -time.Minute)...)
	f.Server.ResetBilling()
	out := &unreachable{Lanes: f.Lanes}
	began := time.Now()
	replayer, err := dlqtest.Replayer(f.Queue, out, f.Config)
	f.Start(replayer, err)
	for range bells {
		asked := out.asked.Load()
		f.Queue.Ring(dlq.BellReplays)
		f.Eventually("it is asked whether the target can be reached", func() bool { return out.asked.Load() > asked })
	}
	read := f.Server.Billing().Reads
	again := int64(time.Since(began)/(20*time.Second)) + 1 // ten a second of what is known are read again
	// Each bell costs a few empty queries, and the listeners show a few at first.
	if most := backlog*again + 10*bells; read > most {
		t.Errorf("%d reads for %d dead letters and %d bells, want at most %d", read, backlog, bells, most)
	}
	if n := f.Lanes.Total(); n != 0 {
		t.Errorf("%d rounds, want none", n)
	}
}

// TestMoreThanIsKeptIsReplayed: what a backlog has no room for is found again once
// it has, wherever it stands.
func TestMoreThanIsKeptIsReplayed(t *testing.T) {
	const backlog = 150 // of which 32 are kept
	f := setup(t)
	f.Config.Poll, f.Config.Concurrency = time.Hour, 2
	all := f.Apart(backlog, -time.Minute)
	f.Bury(all...)
	behind := f.Die("tagOutbox", "TagLifecycleEvent", "tag-1", 1) // for others, and due after them
	out := &unreachable{Lanes: f.Lanes}
	replayer, err := dlqtest.Replayer(f.Queue, out, f.Config)
	f.Start(replayer, err)
	f.Eventually("all were looked at", func() bool { return out.asked.Load() > 3 })
	out.well.Store(true)
	f.Queue.Ring(dlq.BellReplays)
	f.Eventually("all are replayed", func() bool { return f.Lanes.Total() == backlog+1 })
	for _, i := range append(all, behind) {
		if n := f.Lanes.Count(i.ID); n != 1 {
			t.Errorf("%d rounds of %s, want 1", n, i.ID)
		}
	}
}

// TestOneTriesForAllThatWait: once a round told that a target has an outage, the
// others that wait for it are not tried to hear the same.
func TestOneTriesForAllThatWait(t *testing.T) {
	const atOnce = 4
	f := setup(t)
	f.Config.Concurrency = atOnce
	f.Config.PauseMin, f.Config.PauseMax = time.Hour, time.Hour
	well := f.Letter("tagOutbox", "TagLifecycleEvent", "tag-1", 1) // due after all others
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.ID == well.ID { // of its two targets the other one answers
			return dlq.Round{Acked: i.PendingTargets[1:], Blocked: i.PendingTargets[:1], Missing: i.PendingTargets}, nil
		}
		return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
	})
	f.Bury(append(f.Apart(100, -time.Minute), well)...)
	f.Replayer()
	f.Eventually("the one behind them is tried", func() bool { return f.Lanes.Count(well.ID) == 1 })
	if n := f.Lanes.Total() - 1; n > atOnce {
		t.Errorf("%d were tried in vain, want at most the %d that began together", n, atOnce)
	}
}

// TestThoseThatWaitTakeTurns: another one tries each time, so that what their target's
// breaker hears is not one dead letter's own fault. Its probes rely on it.
func TestThoseThatWaitTakeTurns(t *testing.T) {
	const letters, rounds = 6, 30
	f := setup(t)
	f.Config.Concurrency = 1
	f.Config.PauseMin, f.Config.PauseMax = time.Millisecond, 4*time.Millisecond
	var mu sync.Mutex
	var tried []string
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		mu.Lock()
		defer mu.Unlock()
		tried = append(tried, i.AggregateID)
		return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
	})
	f.Bury(f.Apart(letters, -time.Minute)...)
	f.Replayer()
	f.Eventually("they are tried", func() bool { mu.Lock(); defer mu.Unlock(); return len(tried) >= rounds })
	mu.Lock()
	defer mu.Unlock()
	for three := range slices.Chunk(tried[:rounds], 3) {
		if three[0] == three[1] || three[1] == three[2] || three[0] == three[2] {
			t.Fatalf("of %d aggregates these were tried in turn: %v", letters, tried)
		}
	}
}

// TestTargetsThatAnswerDoNotWaitForOthers: of a target that is out alone nothing more
// is tried; where another answers, it gets what it lacks.
func TestTargetsThatAnswerDoNotWaitForOthers(t *testing.T) {
	f := setup(t)
	f.Config.Concurrency = 1
	f.Config.PauseMin, f.Config.PauseMax = time.Hour, time.Hour
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		return dlq.Round{Acked: i.PendingTargets[1:], Blocked: i.PendingTargets[:1], Missing: i.PendingTargets}, nil
	})
	var all []*dlq.Item
	for range 5 {
		i := f.Letter("tagOutbox", "TagLifecycleEvent", "tag", 1)
		i.AggregateID = i.EventID
		all = append(all, i)
	}
	f.Bury(all...)
	f.Replayer()
	for _, i := range all {
		f.Eventually("the one that answers has it", func() bool { return len(f.Item(i.ID).PendingTargets) == 1 })
	}
	if n := f.Lanes.Total(); n != len(all) {
		t.Errorf("%d rounds, want one of each", n)
	}
}

// TestReplayThatWasAskedForGoesFirst: it does not wait behind those for which the
// rate of automatic replays leaves no room, and is found without reading these.
func TestReplayThatWasAskedForGoesFirst(t *testing.T) {
	const backlog, enough = 300, 30
	f := setup(t)
	f.Catalog.Replay.RatePerSecond = 0.0001 // one replay, and no other for hours
	f.Queue = f.NewQueue(f.Store)
	f.Config.Poll, f.Config.Concurrency = time.Hour, 8
	wanted := f.Apart(1, time.Hour)[0] // its own time is far
	f.Bury(append(f.Apart(backlog, -time.Minute), wanted)...)
	f.Replayer()
	f.Eventually("the rate is used up", func() bool { return f.Lanes.Total() == 1 })
	f.Quiet()
	f.Server.ResetBilling()
	f.Decide(wanted.ID, dlq.Replay, dlqtest.Operator)
	f.Eventually("it is replayed", func() bool { return f.Lanes.Count(wanted.ID) == 1 })
	if read := f.Server.Billing().Reads; read > enough {
		t.Errorf("%d reads, want at most %d with %d others due", read, enough, backlog)
	}
	f.Reaches(wanted.ID, contracts.DeadReplayed)
	if n := f.Lanes.Total(); n != 2 {
		t.Errorf("%d rounds, want 2", n)
	}
}

// TestOlderThatDiesMeanwhileComesFirst: an older dead letter that comes while the
// rate makes a younger one wait is not overtaken.
func TestOlderThatDiesMeanwhileComesFirst(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t)
	f.Catalog.Replay.RatePerSecond = 0.3
	f.Queue = f.NewQueue(f.Store)
	f.Config.Concurrency = 1 // of a lane: until the first one ends, the younger one waits for that, however slow all is
	died := make(chan struct{})
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		select {
		case <-died:
		case <-ctx.Done():
			return dlq.Round{}, ctx.Err()
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	first := f.Apart(1, -time.Minute)[0]
	younger := f.Letter("orgOutbox", "MemberJoined", "org-1", 2)
	f.Bury(first, younger)
	f.Replayer()
	f.Eventually("the first one is under way", func() bool { return f.Lanes.Count(first.ID) == 1 })
	f.Die("orgOutbox", "SkillRecognitionGranted", "org-1", 1) // waits for a person
	close(died)
	f.Reaches(first.ID, contracts.DeadReplayed)
	f.Eventually("the younger one is put off", func() bool { return f.Item(younger.ID).NextReplayAt.After(younger.NextReplayAt) })
	if n := f.Lanes.Count(younger.ID); n != 0 {
		t.Errorf("%d replays of the younger one, want none", n)
	}
}

// TestBehindOnesTakeNothingOfTheRate: those behind an older one leave it to others.
func TestBehindOnesTakeNothingOfTheRate(t *testing.T) {
	f := setup(t)
	f.Catalog.Replay.RatePerSecond = 0.0001
	f.Queue = f.NewQueue(f.Store)
	f.Die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
	younger := f.Letter("orgOutbox", "MemberJoined", "org-1", 2)
	younger.NextReplayAt = younger.NextReplayAt.Add(-time.Minute)
	other := f.Apart(1, 0)[0]
	f.Bury(younger, other)
	f.Replayer()
	f.Reaches(other.ID, contracts.DeadReplayed)
	if n := f.Lanes.Count(younger.ID); n != 0 {
		t.Errorf("%d replays of the younger one, want none", n)
	}
}
