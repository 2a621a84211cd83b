package dlq_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// unreachable are lanes whose targets cannot be reached until they are well, and
// that can tell.
type unreachable struct {
	*lanes
	asked atomic.Int64
	well  atomic.Bool
}

func (u *unreachable) Reachable(*dlq.Item) bool { u.asked.Add(1); return u.well.Load() }

// TestBacklogOfATargetThatIsOutIsReadOnce: what waits for a target that cannot be
// reached is not read again each time that somebody asks whether it can.
func TestBacklogOfATargetThatIsOutIsReadOnce(t *testing.T) {
	const backlog, bells = 200, 20
	f := setup(t)
	f.config.Poll = time.Hour
	f.bury(f.apart(backlog, -time.Minute)...)
	f.server.ResetBilling()
	out := &unreachable{lanes: f.lanes}
	began := time.Now()
	replayer, err := dlq.NewReplayer(f.queue, out, f.config)
	f.start(replayer, err)
	for range bells {
		asked := out.asked.Load()
		f.queue.Ring(dlq.BellReplays)
		f.eventually("it is asked whether the target can be reached", func() bool { return out.asked.Load() > asked })
	}
	read := f.server.Billing().Reads
	again := int64(time.Since(began)/(20*time.Second)) + 1 // ten a second of what is known are read again
	// Each bell costs a few empty queries, and the listeners show a few at first.
	if most := backlog*again + 10*bells; read > most {
		t.Errorf("%d reads for %d dead letters and %d bells, want at most %d", read, backlog, bells, most)
	}
	if n := f.lanes.total(); n != 0 {
		t.Errorf("%d rounds, want none", n)
	}
}

// TestMoreThanIsKeptIsReplayed: what a backlog has no room for is found again once
// it has, wherever it stands.
func TestMoreThanIsKeptIsReplayed(t *testing.T) {
	const backlog = 150 // of which 32 are kept
	f := setup(t)
	f.config.Poll, f.config.Concurrency = time.Hour, 2
	all := f.apart(backlog, -time.Minute)
	f.bury(all...)
	behind := f.die("tagOutbox", "TagLifecycleEvent", "tag-1", 1) // for others, and due after them
	out := &unreachable{lanes: f.lanes}
	replayer, err := dlq.NewReplayer(f.queue, out, f.config)
	f.start(replayer, err)
	f.eventually("all were looked at", func() bool { return out.asked.Load() > 3 })
	out.well.Store(true)
	f.queue.Ring(dlq.BellReplays)
	f.eventually("all are replayed", func() bool { return f.lanes.total() == backlog+1 })
	for _, i := range append(all, behind) {
		if n := f.lanes.count(i.ID); n != 1 {
			t.Errorf("%d rounds of %s, want 1", n, i.ID)
		}
	}
}

// TestOneTriesForAllThatWait: once a round told that a target has an outage, the
// others that wait for it are not tried to hear the same.
func TestOneTriesForAllThatWait(t *testing.T) {
	const atOnce = 4
	f := setup(t)
	f.config.Concurrency = atOnce
	f.config.PauseMin, f.config.PauseMax = time.Hour, time.Hour
	well := f.letter("tagOutbox", "TagLifecycleEvent", "tag-1", 1) // due after all others
	f.lanes.follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.ID == well.ID { // of its two targets the other one answers
			return dlq.Round{Acked: i.PendingTargets[1:], Blocked: i.PendingTargets[:1], Missing: i.PendingTargets}, nil
		}
		return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
	})
	f.bury(append(f.apart(100, -time.Minute), well)...)
	f.replayer()
	f.eventually("the one behind them is tried", func() bool { return f.lanes.count(well.ID) == 1 })
	if n := f.lanes.total() - 1; n > atOnce {
		t.Errorf("%d were tried in vain, want at most the %d that began together", n, atOnce)
	}
}

// TestTargetsThatAnswerDoNotWaitForOthers: of a target that is out alone nothing more
// is tried; where another answers, it gets what it lacks.
func TestTargetsThatAnswerDoNotWaitForOthers(t *testing.T) {
	f := setup(t)
	f.config.Concurrency = 1
	f.config.PauseMin, f.config.PauseMax = time.Hour, time.Hour
	f.lanes.follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		return dlq.Round{Acked: i.PendingTargets[1:], Blocked: i.PendingTargets[:1], Missing: i.PendingTargets}, nil
	})
	var all []*dlq.Item
	for range 5 {
		i := f.letter("tagOutbox", "TagLifecycleEvent", "tag", 1)
		i.AggregateID = i.EventID
		all = append(all, i)
	}
	f.bury(all...)
	f.replayer()
	for _, i := range all {
		f.eventually("the one that answers has it", func() bool { return len(f.item(i.ID).PendingTargets) == 1 })
	}
	if n := f.lanes.total(); n != len(all) {
		t.Errorf("%d rounds, want one of each", n)
	}
}

// TestReplayThatWasAskedForGoesFirst: it does not wait behind those for which the
// rate of automatic replays leaves no room, and is found without reading these.
func TestReplayThatWasAskedForGoesFirst(t *testing.T) {
	const backlog, enough = 300, 30
	f := setup(t)
	f.catalog.Replay.RatePerSecond = 0.0001 // one replay, and no other for hours
	f.queue = f.newQueue(f.store)
	f.config.Poll, f.config.Concurrency = time.Hour, 8
	wanted := f.apart(1, time.Hour)[0] // its own time is far
	f.bury(append(f.apart(backlog, -time.Minute), wanted)...)
	f.replayer()
	f.eventually("the rate is used up", func() bool { return f.lanes.total() == 1 })
	f.quiet()
	f.server.ResetBilling()
	f.decide(wanted.ID, dlq.Replay, operator)
	f.eventually("it is replayed", func() bool { return f.lanes.count(wanted.ID) == 1 })
	if read := f.server.Billing().Reads; read > enough {
		t.Errorf("%d reads, want at most %d with %d others due", read, enough, backlog)
	}
	f.reaches(wanted.ID, contracts.DeadReplayed)
	if n := f.lanes.total(); n != 2 {
		t.Errorf("%d rounds, want 2", n)
	}
}

// TestOlderThatDiesMeanwhileComesFirst: an older dead letter that comes while the
// rate makes a younger one wait is not overtaken.
func TestOlderThatDiesMeanwhileComesFirst(t *testing.T) {
	f := setup(t)
	f.catalog.Replay.RatePerSecond = 0.3
	f.queue = f.newQueue(f.store)
	first := f.apart(1, -time.Minute)[0]
	younger := f.letter("orgOutbox", "MemberJoined", "org-1", 2)
	f.bury(first, younger)
	f.replayer()
	f.reaches(first.ID, contracts.DeadReplayed)
	f.die("orgOutbox", "SkillRecognitionGranted", "org-1", 1) // waits for a person
	f.eventually("the younger one is put off", func() bool { return f.item(younger.ID).NextReplayAt.After(younger.NextReplayAt) })
	if n := f.lanes.count(younger.ID); n != 0 {
		t.Errorf("%d replays of the younger one, want none", n)
	}
}

// TestBehindOnesTakeNothingOfTheRate: those behind an older one leave it to others.
func TestBehindOnesTakeNothingOfTheRate(t *testing.T) {
	f := setup(t)
	f.catalog.Replay.RatePerSecond = 0.0001
	f.queue = f.newQueue(f.store)
	f.die("orgOutbox", "SkillRecognitionGranted", "org-1", 1)
	younger := f.letter("orgOutbox", "MemberJoined", "org-1", 2)
	younger.NextReplayAt = younger.NextReplayAt.Add(-time.Minute)
	other := f.apart(1, 0)[0]
	f.bury(younger, other)
	f.replayer()
	f.reaches(other.ID, contracts.DeadReplayed)
	if n := f.lanes.count(younger.ID); n != 0 {
		t.Errorf("%d replays of the younger one, want none", n)
	}
}
