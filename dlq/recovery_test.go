package dlq_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// What an instance that is gone left behind, a sibling that ran all the while
// comes back to by itself: here no listener of it opens, and nobody rings.

// elsewhere makes listeners fail, and returns a queue whose bells this instance
// does not hear: that of the instance that is gone.
func (f *fixture) elsewhere() *dlq.Queue {
	f.T.Helper()
	f.T.Cleanup(f.Server.Faults().Add(localfirestore.Fault{Method: "Listen", Code: codes.PermissionDenied}))
	f.Config.Poll = 200 * time.Millisecond
	return f.NewQueue(f.Store)
}

// left commits what that instance wrote.
func (f *fixture) left(writes ...dlq.Write) {
	f.T.Helper()
	if _, err := f.Store.Commit(f.T.Context(), writes); err != nil {
		f.T.Fatal(err)
	}
}

func TestRequestLeftBehindIsCarriedOutInEveryTier(t *testing.T) {
	f := setup(t)
	gone := f.elsewhere()
	f.Replayer()
	f.Review()
	f.Freezer(&dlqtest.Topic{})
	for event, outbox := range map[string]string{"TaskDone": "wsOutbox", "SkillRecognitionGranted": "orgOutbox", "RoleChanged": "accOutbox"} {
		i := f.Letter(outbox, event, "of-"+event, 1)
		if i.Tier == contracts.SafeAuto {
			i.NextReplayAt = i.NextReplayAt.Add(time.Hour)
		}
		f.left(i.Burial(false)...)
		decisions := []dlq.Decide{{Action: dlq.Replay, Actor: dlqtest.Operator, Reason: "mended"}}
		if i.Tier == contracts.SecurityBlock {
			decisions = []dlq.Decide{{Action: dlq.Authorize, Actor: dlqtest.Security, Reason: "checked"}, decisions[0]}
		}
		for _, d := range decisions {
			if _, err := gone.Decide(t.Context(), i.ID, d); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.Reaches(i.ID, contracts.DeadReplayed); got.LastReplay.By != dlqtest.Operator.Name || got.Replays != 1 {
			t.Errorf("%s: %d replays, the last by %q; want one, by %s", event, got.Replays, got.LastReplay.By, dlqtest.Operator.Name)
		}
	}
}

// halfDone makes a bulk replay of 20 that its instance left: five are delivered,
// five asked for, and the rest waits. The runner here runs already, and begins to
// lead when it is told to, without a bell.
func (f *fixture) halfDone() (b *dlq.Bulk, gone *dlq.Queue, all []*dlq.Item, lead func()) {
	f.T.Helper()
	gone = f.elsewhere()
	var leads, owns atomic.Bool
	f.Config.Leads = leads.Load
	r, err := dlqtest.Review(f.Queue, &later{f.Lanes, &owns}, f.Config)
	f.Start(r, err)
	all = f.Reviewable(20)
	b, err = gone.StartBulk(f.T.Context(), dlq.BulkRequest{Filter: dlqtest.Granted, RatePerSecond: 1000, Actor: dlqtest.Operator, Reason: "mended"})
	if err != nil {
		f.T.Fatal(err)
	}
	for n, i := range all[:10] {
		asked, err := gone.Decide(f.T.Context(), i.ID, dlq.Decide{Action: dlq.Replay, Actor: dlqtest.Operator, Reason: "bulk replay " + b.ID, Bulk: b.ID})
		if err != nil {
			f.T.Fatal(err)
		}
		if n < 5 {
			if _, err := gone.End(f.T.Context(), asked.Item, dlq.Result{Acked: i.PendingTargets}); err != nil {
				f.T.Fatal(err)
			}
		}
	}
	return b, gone, all, func() { leads.Store(true); owns.Store(true) }
}

// later is lanes that own nothing until then.
type later struct {
	*dlqtest.Lanes
	owns *atomic.Bool
}

func (l *later) Owned() []string {
	if !l.owns.Load() {
		return nil
	}
	return l.Lanes.Owned()
}

// wantRounds wants so many rounds of replay here of each item.
func (f *fixture) wantRounds(all []*dlq.Item, want int) {
	f.T.Helper()
	for _, i := range all {
		if n := f.Lanes.Count(i.ID); n != want {
			f.T.Errorf("%s was replayed %d times here, want %d", i.ID, n, want)
		}
	}
}

func TestBulkLeftHalfDoneGoesOn(t *testing.T) {
	f := setup(t)
	b, _, all, lead := f.halfDone()
	lead()
	want := map[string]int{"total": 20, "delivered": 20, "failed": 0, "skipped": 0, "replaying": 0, "waiting": 0}
	if diff := cmp.Diff(want, dlqtest.Numbers(f.Ends(b, dlq.BulkDone))); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	f.wantRounds(all[:5], 0)
	f.wantRounds(all[5:], 1)
}

// One that was cancelled asks for nothing more, and what it asked for is followed
// to its end all the same.
func TestCancelledBulkLeftHalfDoneIsFollowed(t *testing.T) {
	f := setup(t)
	b, gone, all, lead := f.halfDone()
	if _, err := gone.CancelBulk(t.Context(), b.ID, dlqtest.Operator, "wrong filter"); err != nil {
		t.Fatal(err)
	}
	lead()
	want := map[string]int{"total": 20, "delivered": 10, "failed": 0, "skipped": 0, "replaying": 0, "waiting": 10}
	f.Eventually("what was asked for is counted", func() bool { return cmp.Equal(want, dlqtest.Numbers(f.Now(b))) })
	f.wantRounds(all[5:10], 1)
	f.wantRounds(all[10:], 0)
}

// A release that was decided, and carried out so far.
func TestReleaseLeftHalfDoneIsFinished(t *testing.T) {
	t.Parallel()
	for name, putBack := range map[string]int{"nothing put back": 0, "half of it put back": 120, "all of it put back": 205} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			gone := f.elsewhere()
			f.Freezer(&dlqtest.Topic{})
			f.left(f.Letter("accOutbox", "RoleChanged", "acc-1", 1).Burial(false)...)
			f.Hold("accOutbox", "AccountCreated", "acc-1", 5)
			f.Hold("wsOutbox", "TaskDone", "acc-1", 200)
			f.putBack("acc-1", putBack)
			if _, err := gone.Release(t.Context(), "acc-1", dlq.Release{Actor: dlqtest.Security, Reason: "looked into"}); err != nil {
				t.Fatal(err)
			}
			f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc-1") })
			if pending, held := f.Having("acc-1", contracts.Pending), f.Having("acc-1", contracts.Held); pending != 205 || held != 0 {
				t.Errorf("%d pending, %d held; want 205, 0", pending, held)
			}
			if n := f.Releases("acc-1"); n != 1 {
				t.Errorf("%d audit entries of the release's end, want 1", n)
			}
		})
	}
}

// putBack turns so many held records of an aggregate back to pending.
func (f *fixture) putBack(aggregate string, n int) {
	f.T.Helper()
	for _, o := range f.Catalog.Outboxes {
		docs, err := f.Store.Query(f.T.Context(), dlq.Query{Collection: o.Name, Where: []dlq.Where{
			{Field: contracts.FieldAggregateID, Op: "==", Value: aggregate}, {Field: contracts.FieldStatus, Op: "==", Value: string(contracts.Held)},
		}, Limit: 1000})
		if err != nil {
			f.T.Fatal(err)
		}
		for _, d := range docs[:min(n, len(docs))] {
			f.left(dlq.Write{Collection: o.Name, ID: d.ID, Op: dlq.OpUpdate, Fields: map[string]any{contracts.FieldStatus: string(contracts.Pending)}})
			n--
		}
	}
}

func TestAlertLeftUnpublishedIsPublished(t *testing.T) {
	f := setup(t)
	f.elsewhere()
	topic := &dlqtest.Topic{}
	f.Freezer(topic)
	f.left(f.Letter("accOutbox", "RoleChanged", "acc-1", 1).Burial(false)...)
	f.Eventually("the alert is marked", func() bool { return f.AllMarked(1) })
	if n := len(topic.Messages()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}
