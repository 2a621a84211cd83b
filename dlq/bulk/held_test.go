package bulk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// out lets rounds of what misses FUNNEL find it out, until it is mended.
func (f *fixture) out() (mend func()) {
	var well atomic.Bool
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if !well.Load() && slices.Contains(i.PendingTargets, "FUNNEL") {
			return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	return func() {
		well.Store(true)
		f.Queue.Ring(dlq.BellReplays)
	}
}

// provisioned makes n dead letters of aggregates of their own, which miss ORG_CONTEXT_ACL
// and are pinned behind those that Reviewable makes.
func (f *fixture) provisioned(n int) (all []*dlq.Item) {
	for k := range n {
		all = append(all, f.Letter("orgOutbox", "OrgContextProvisioned", fmt.Sprintf("z-%04d", k), 1))
	}
	f.Bury(all...)
	return all
}

// start starts a bulk replay of these.
func (f *fixture) start(items ...*dlq.Item) *dlq.Bulk {
	f.T.Helper()
	var ids []string
	for _, i := range items {
		ids = append(ids, i.ID)
	}
	b, err := f.Queue.StartBulk(f.T.Context(), dlq.BulkRequest{IDs: ids, RatePerSecond: 1000, Actor: dlqtest.Operator})
	if err != nil {
		f.T.Fatal(err)
	}
	return b
}

// heldFor waits until a bulk replay holds so many for reasons that begin like that.
func (f *fixture) heldFor(b *dlq.Bulk, n int, why string) {
	f.T.Helper()
	f.Eventually(fmt.Sprintf("%d are held up: %s", n, why), func() bool {
		got := 0
		for reason, some := range f.Now(b).HeldFor {
			if strings.HasPrefix(reason, why) {
				got += some
			}
		}
		return got == n
	})
}

// A bulk replay of dead letters of two targets, of which the one is out that its canary
// misses: those of the other are delivered meanwhile, the others once it is back. It says
// what it waits for, and a runner that takes it over knows.
func TestABulkGoesOnBesideATargetThatIsOut(t *testing.T) { goesOn(t, setup(t)) }

func TestABulkGoesOnBesideATargetThatIsOutOnGoogle(t *testing.T) {
	goesOn(t, &fixture{dlqtest.SetupOnGoogle(t)})
}

func goesOn(t *testing.T, f *fixture) {
	mend := f.out()
	stop := f.Review()
	const missing, others = 150, 30
	all := append(f.Reviewable(missing), f.provisioned(others)...)
	b := f.start(all...)
	f.Eventually("the others are delivered", func() bool { return f.Now(b).Delivered == others })
	f.heldFor(b, missing, "FUNNEL is out")
	if got := f.Now(b); got.Replaying > 10 {
		t.Errorf("%d are under way, want no more than the canary of what waits: %v", got.Replaying, dlqtest.Numbers(got))
	}
	stop()
	f.Review()
	f.heldFor(b, missing, "FUNNEL is out")
	mend()
	if got := f.Ends(b, dlq.BulkDone); got.Delivered != len(all) || got.HeldFor != nil {
		t.Errorf("%d are delivered, want %d: %v; held up %v", got.Delivered, len(all), dlqtest.Numbers(got), got.HeldFor)
	}
}

// What waits in an outbox that nobody relays any more says that its target is out for ever:
// the same target is not out for another outbox.
func TestWhatWaitsInOneOutboxTellsNothingOfAnother(t *testing.T) {
	f := setup(t)
	mend := f.out()
	stop := f.Review()
	left := f.Reviewable(5)
	others := make([]*dlq.Item, 20)
	for n := range others {
		others[n] = f.Letter("tagOutbox", "TagLifecycleEvent", fmt.Sprintf("tag-%02d", n), 1)
		others[n].Tier, others[n].PendingTargets, others[n].NextReplayAt = contracts.ReviewRequired, []string{"FUNNEL"}, time.Time{}
		others[n].State = contracts.DeadAwaitingReview
	}
	f.Bury(others...)
	b := f.start(append(left, others...)...)
	f.heldFor(b, len(left)+len(others), "FUNNEL is out")
	stop()
	f.Lanes.Outboxes = []string{"tagOutbox"}
	mend()
	f.Review()
	f.Eventually("the others are delivered", func() bool { return f.Now(b).Delivered == len(others) })
	f.heldFor(b, len(left), "FUNNEL is out")
}

// Nothing follows the canary while one of it is under way that can go on.
func TestNothingFollowsHalfACanary(t *testing.T) {
	f := setup(t)
	goOn := make(chan struct{})
	items := f.Reviewable(20)
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.AggregateID != items[0].AggregateID {
			select {
			case <-goOn:
			case <-ctx.Done():
			}
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	f.Review()
	b := f.start(items...)
	f.Eventually("one is delivered", func() bool { return f.Now(b).Delivered == 1 })
	if n := f.Settles("nothing follows", func() int { return f.Now(b).Replaying }); n != 4 {
		t.Errorf("%d are under way beside the one that was delivered, want the 4 others of the canary", n)
	}
	close(goOn)
	f.Ends(b, dlq.BulkDone)
}

// Others go first in the place of a canary whose target is out. A runner that takes the bulk
// replay over knows them: it asks for no others while these are under way.
func TestTheNextRunnerKnowsWhoGoesFirst(t *testing.T) {
	f := setup(t)
	goOn := make(chan struct{})
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if slices.Contains(i.PendingTargets, "FUNNEL") {
			return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
		}
		select {
		case <-goOn:
			return dlq.Round{Acked: i.PendingTargets}, nil
		case <-ctx.Done():
			return dlq.Round{}, ctx.Err()
		}
	})
	stop := f.Review()
	missing, others := f.Reviewable(5), f.provisioned(20)
	b := f.start(append(missing, others...)...)
	f.heldFor(b, len(missing), "FUNNEL is out")
	f.Eventually("others go first", func() bool { return f.Now(b).Replaying == 10 })
	stop()
	f.Review()
	goOn <- struct{}{}
	f.Eventually("one is delivered", func() bool { return f.Now(b).Delivered == 1 })
	if n := f.Settles("nothing follows", func() int { return f.Now(b).Replaying }); n != 9 {
		t.Errorf("%d are under way, want the canary of 5 that waits and 4 of those in its place", n)
	}
	close(goOn)
	f.Eventually("the others are delivered", func() bool { return f.Now(b).Delivered == len(others) })
}

// Those that would go first were discarded before anything was asked for. What comes after
// them is tried on a few all the same.
func TestOthersGoFirstForThoseThatArePassedOver(t *testing.T) {
	f := setup(t)
	goOn := make(chan struct{})
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		select {
		case <-goOn:
			return dlq.Round{Acked: i.PendingTargets}, nil
		case <-ctx.Done():
			return dlq.Round{}, ctx.Err()
		}
	})
	items := f.Reviewable(30)
	b := f.start(items...)
	for _, i := range items[:5] {
		f.Decide(i.ID, dlq.Discard, dlqtest.Operator)
	}
	f.Review()
	f.Eventually("some are under way", func() bool { return f.Now(b).Replaying > 0 })
	if n := f.Settles("nothing follows", func() int { return f.Now(b).Replaying }); n != 5 {
		t.Errorf("%d are under way, want 5 in the place of the canary that was passed over", n)
	}
	close(goOn)
	if got := f.Ends(b, dlq.BulkDone); got.Delivered != 25 || got.Skipped != 5 {
		t.Errorf("it ended with %v, want 25 delivered and 5 passed over", dlqtest.Numbers(got))
	}
}

// A bulk replay all of which misses a target that is out asks for its canary, stands still
// and says why. What it passed over is no canary that went well.
func TestABulkThatCannotGoOnSaysWhy(t *testing.T) {
	f := setup(t)
	mend := f.out()
	all := f.Reviewable(40)
	b := f.start(all...)
	f.Decide(all[0].ID, dlq.Discard, dlqtest.Operator)
	f.Review()
	f.heldFor(b, len(all)-1, "FUNNEL is out")
	if got := f.Now(b); got.Replaying != 5 || got.Phase != dlq.PhaseCanary {
		t.Errorf("%d are under way, phase %s, want the canary of 5", got.Replaying, got.Phase)
	}
	mend()
	f.Ends(b, dlq.BulkDone)
}

// An older record of one aggregate dies once the younger one's replay was asked for. All
// others of the bulk replay are of other aggregates, and go on.
func TestAnOlderOneThatDiesHoldsUpItsAggregateAlone(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t)
	mend := f.out()
	f.Review()
	items := f.Reviewable(30)
	b := f.Bulk(dlqtest.Granted, 1000)
	f.heldFor(b, len(items), "FUNNEL is out")
	older := f.Letter("orgOutbox", "SkillRecognitionRevoked", items[0].AggregateID, 0)
	f.Bury(older)
	f.heldFor(b, 1, "an older dead letter of their aggregate comes first: "+older.ID)
	mend()
	f.Eventually("the others are delivered", func() bool { return f.Now(b).Delivered == len(items)-1 })
	f.heldFor(b, 1, "an older dead letter of their aggregate comes first: "+older.ID)
	f.Decide(older.ID, dlq.Replay, dlqtest.Operator)
	if got := f.Ends(b, dlq.BulkDone); got.Delivered != len(items) {
		t.Errorf("%d are delivered, want %d: %v", got.Delivered, len(items), dlqtest.Numbers(got))
	}
}

// A target goes out when as many are under way as may be: these take no room from others.
func TestWhatIsHeldUpTakesNoRoom(t *testing.T) {
	f := setup(t)
	goesOut := make(chan struct{})
	var under, well atomic.Int64
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if well.Load() == 0 && slices.Contains(i.PendingTargets, "FUNNEL") && under.Add(1) > 5 { // the canary is delivered
			select {
			case <-goesOut:
			case <-ctx.Done():
			}
			return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	f.Review()
	const missing, others = 130, 30
	b := f.start(append(f.Reviewable(missing), f.provisioned(others)...)...)
	f.Eventually("as many are under way as may be", func() bool { return f.Now(b).Replaying == 100 })
	close(goesOut)
	f.Eventually("the others are delivered", func() bool { return f.Now(b).Delivered == 5+others })
	well.Store(1)
	f.Queue.Ring(dlq.BellReplays)
	if got := f.Ends(b, dlq.BulkDone); got.Delivered != missing+others {
		t.Errorf("%d are delivered, want %d: %v", got.Delivered, missing+others, dlqtest.Numbers(got))
	}
}

// A consumer's dead letter stands in the way of that consumer's alone, and the relay's own in
// that of all.
func TestABulkDoesNotWaitForAnotherConsumersLetter(t *testing.T) {
	f := setup(t)
	f.out() // FUNNEL
	f.Review()
	letter := func(aggregate string, version int64, consumer, target string) *dlq.Item {
		i := f.Letter("orgOutbox", "SkillRecognitionGranted", aggregate, version)
		if i.Consumer, i.PendingTargets = consumer, []string{target}; consumer != "" {
			i.ID = dlq.ID(i.IdempotencyKey + "@" + consumer)
		}
		return i
	}
	all := []*dlq.Item{
		letter("org-1", 1, "projections", "FUNNEL"), letter("org-1", 2, "notifications", "NOTIF_ROUTER"), letter("org-1", 3, "", "NOTIF_ROUTER"),
		letter("org-2", 1, "", "FUNNEL"), letter("org-2", 2, "notifications", "NOTIF_ROUTER"),
	}
	f.Bury(all...)
	b := f.start(all...)
	f.Eventually("what nothing comes before is delivered", func() bool { return f.Now(b).Delivered == 2 })
	if now := f.Now(b); now.Failed > 0 || now.Skipped > 0 {
		t.Errorf("%d failed and %d were skipped, want the others to wait", now.Failed, now.Skipped)
	}
}

// What a bulk replay waits behind may have any ID that a document can have.
func TestABulkTellsWhatItWaitsBehindWhateverItsID(t *testing.T) {
	f := setup(t)
	mend := f.out()
	f.Review()
	all := f.Reviewable(3)
	b := f.start(all...)
	f.heldFor(b, 3, "FUNNEL is out")
	older := f.Letter("orgOutbox", "SkillRecognitionGranted", all[0].AggregateID, 0)
	older.ID = strings.Repeat("k", dlq.MaxIDBytes)
	f.Bury(older)
	f.heldFor(b, 1, "an older dead letter of their aggregate comes first")
	mend()
	f.Eventually("the others are delivered", func() bool { return f.Now(b).Delivered == 2 })
}
