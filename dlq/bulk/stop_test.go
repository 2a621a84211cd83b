package bulk_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

func TestSickCanaryStopsBeforeTheRest(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(50)
	release := make(chan struct{})
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.ID == all[0].ID || i.ID == all[1].ID {
			return dlqtest.Fails(i), nil
		}
		select {
		case <-release:
		case <-ctx.Done():
			return dlq.Round{}, ctx.Err()
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Review()
	f.Eventually("it stops with the second failure", func() bool { return f.Now(b).State == dlq.BulkStopped })
	close(release)
	got := f.Ends(b, dlq.BulkStopped)
	want := map[string]int{"total": 50, "delivered": 3, "failed": 2, "skipped": 0, "replaying": 0, "waiting": 45}
	if diff := cmp.Diff(want, dlqtest.Numbers(got)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if got.Phase != dlq.PhaseCanary || f.Lanes.Total() != 5 {
		t.Errorf("phase %s, %d rounds; want the canary alone", got.Phase, f.Lanes.Total())
	}
	if !strings.Contains(got.EndReason, "failed") {
		t.Errorf("end reason %q does not say that too many failed", got.EndReason)
	}
}

func TestCanaryComesFirst(t *testing.T) {
	f := setup(t)
	all := f.Reviewable(40)
	release := make(chan struct{})
	var once sync.Once
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if i.ID == all[0].ID {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	t.Cleanup(func() { once.Do(func() { close(release) }) })
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Review()
	f.Eventually("four of the canary are delivered", func() bool { return f.Now(b).Delivered == 4 })
	if n := f.Lanes.Total(); n != 5 {
		t.Errorf("%d rounds while the canary is under way, want 5", n)
	}
	once.Do(func() { close(release) })
	f.Ends(b, dlq.BulkDone)
}

func TestFailureRateStopsTheRamp(t *testing.T) {
	f := setup(t)
	f.Reviewable(200)
	var mu sync.Mutex
	n := 0
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n > 20 {
			return dlqtest.Fails(i), nil
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	b := f.Bulk(dlqtest.Granted, 50)
	f.Review()
	got := f.Ends(b, dlq.BulkStopped)
	if got.Delivered != 20 || got.Waiting < 50 { // what was asked for meanwhile, 100 at most, fails too
		t.Errorf("%v; want it to stop after 20 delivered", dlqtest.Numbers(got))
	}
	total := f.Lanes.Total()
	f.Eventually("all that was asked for ended", func() bool { b := f.Now(b); return b.Delivered+b.Failed == total })
}

func TestCancelledBulkAsksNoMore(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t)
	f.Reviewable(200)
	release := make(chan struct{})
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if f.Lanes.Total() > 15 {
			select {
			case <-release:
			case <-ctx.Done():
				return dlq.Round{}, ctx.Err()
			}
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	b := f.Bulk(dlqtest.Granted, 8) // so many at once at most
	asked := func() int {
		p, err := f.Queue.Audit(t.Context(), dlq.AuditFilter{Action: string(dlq.Replay)}, dlq.Page{Limit: dlq.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		return len(p.Items)
	}
	f.Review()
	f.Eventually("some of the ramp are under way", func() bool { b := f.Now(b); return b.Delivered > 10 && b.Replaying > 3 })
	cancelled, err := f.Queue.CancelBulk(t.Context(), b.ID, dlqtest.Security, "wrong filter")
	if err != nil {
		t.Fatal(err)
	}
	if cancelled.State != dlq.BulkCancelled || cancelled.CancelledBy != dlqtest.Security.Name || cancelled.EndReason != "wrong filter" {
		t.Errorf("cancelled as %+v", cancelled)
	}
	_, err = f.Queue.CancelBulk(t.Context(), b.ID, dlqtest.Security, "again")
	dlqtest.Refused(t, err, dlq.Conflict)
	before := asked()
	if after := f.Settles("it asks for nothing more", asked); after > before+8 { // a round may have begun
		t.Errorf("asked for %d more after it was cancelled", after-before)
	}
	close(release)
	got := f.Ends(b, dlq.BulkCancelled)
	if got.Waiting == 0 || got.Delivered+got.Waiting != 200 || got.EndReason != "wrong filter" {
		t.Errorf("%v, %q; want the rest to wait", dlqtest.Numbers(got), got.EndReason)
	}
	if n := asked(); n != got.Delivered {
		t.Errorf("asked for %d, counted %d delivered", n, got.Delivered)
	}
}

// ending is a Store under which something happens once: before a bulk replay's
// end is written.
type ending struct {
	dlq.Store
	once   sync.Once
	before func()
}

func (s *ending) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	for _, w := range writes {
		if w.Collection == contracts.CollectionReplays && w.Fields["state"] == string(dlq.BulkDone) {
			s.once.Do(s.before)
		}
	}
	return s.Store.Commit(ctx, writes)
}

// A bulk replay that is cancelled while its end is being written was cancelled.
func TestCancelBeatsTheEndThatItMeets(t *testing.T) {
	f := setup(t)
	f.Reviewable(3)
	b := f.Bulk(dlqtest.Granted, 1000)
	person := f.Queue
	answer := make(chan error, 1)
	f.Queue = f.NewQueue(&ending{Store: f.Store, before: func() {
		_, err := person.CancelBulk(t.Context(), b.ID, dlqtest.Operator, "wrong filter")
		answer <- err
	}})
	f.Review()
	if got := f.Ends(b, dlq.BulkCancelled); got.EndReason != "wrong filter" || got.CancelledBy != dlqtest.Operator.Name {
		t.Errorf("ended as %+v", got)
	}
	if err := <-answer; err != nil { // the state is seen before the answer comes
		t.Error(err)
	}
}

func TestCancelOfWhatIsNotThere(t *testing.T) {
	f := setup(t)
	_, err := f.Queue.CancelBulk(t.Context(), "nowhere", dlqtest.Operator, "")
	dlqtest.Refused(t, err, dlq.NotFound)
	_, err = f.Queue.CancelBulk(t.Context(), "nowhere", dlq.Actor{Name: "vera", Role: dlq.Viewer}, "")
	dlqtest.Refused(t, err, dlq.Forbidden)
	_, err = f.Queue.Bulk(t.Context(), "nowhere")
	dlqtest.Refused(t, err, dlq.NotFound)
}

func TestBulkWaitsForItsLeader(t *testing.T) {
	f := setup(t)
	f.Reviewable(60)
	b := f.Bulk(dlqtest.Granted, 20)
	var leads, again atomic.Bool
	f.Config.Leads = leads.Load
	measured := make(chan struct{})
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		select { // the canary holds up the rest
		case <-measured:
		case <-ctx.Done():
			return dlq.Round{}, ctx.Err()
		}
		if f.Lanes.Total() >= 8 && !again.Load() {
			leads.Store(false)
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	f.Review()
	if n := f.Settles("it waits", f.Lanes.Total); n != 0 {
		t.Errorf("%d rounds before it leads, want none", n)
	}
	if n := f.Counter("relay_dlq_items", "awaiting_review", "REVIEW_REQUIRED"); n != 0 {
		t.Errorf("%v dead letters measured before it leads, want none", n)
	}
	leads.Store(true)
	f.Eventually("the queue is measured", func() bool { return f.Counter("relay_dlq_items", "awaiting_review", "REVIEW_REQUIRED") > 0 })
	close(measured)
	f.Eventually("it works until it leads no more", func() bool { return !leads.Load() })
	if n := f.Settles("it rests", f.Lanes.Total); n > 30 {
		t.Errorf("%d rounds after it led no more, want it to rest soon after 8", n)
	}
	again.Store(true)
	leads.Store(true)
	f.Ends(b, dlq.BulkDone)
}

func TestBulkWithoutItsPinsStops(t *testing.T) {
	f := setup(t)
	f.Reviewable(3)
	b := f.Bulk(dlqtest.Granted, 1000)
	if _, err := f.Store.Commit(t.Context(), []dlq.Write{{Collection: "bulk-replays/" + b.ID + "/items", ID: "0000", Op: dlq.OpDelete}}); err != nil {
		t.Fatal(err)
	}
	f.Review()
	if got := f.Ends(b, dlq.BulkStopped); !strings.Contains(got.EndReason, "pinned") {
		t.Errorf("end reason %q does not say what is missing", got.EndReason)
	}
}

func TestBulkAsksForNoMoreThanCanBeOutstanding(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t)
	f.Reviewable(250)
	f.Config.Concurrency = 500
	release := make(chan struct{})
	f.Lanes.Follow(func(ctx context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if f.Lanes.Total() > 5 {
			select {
			case <-release:
			case <-ctx.Done():
				return dlq.Round{}, ctx.Err()
			}
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	b := f.Bulk(dlqtest.Granted, 1000)
	f.Review()
	f.Eventually("it has asked for all it may", func() bool { return f.Now(b).Replaying == 100 })
	close(release)
	f.Ends(b, dlq.BulkDone)
	if most := f.Lanes.AtOnce(); most > 100 {
		t.Errorf("%d replays at once, want 100 at most", most)
	}
}
