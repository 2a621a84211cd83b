package firestore_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
)

// without takes an outbox out of the catalog.
func (f *fixture) without(outbox string) {
	f.t.Helper()
	c := *f.catalog
	c.Outboxes = slices.DeleteFunc(slices.Clone(c.Outboxes), func(o *contracts.Outbox) bool { return o.Name == outbox })
	f.catalog = &c
	f.queue = f.newQueue(f.store)
}

// TestOrphans: nothing would replay what has no outbox any more, so nobody can
// ask for it, and it can be given up.
func TestOrphans(t *testing.T) {
	f := setup(t, newCloud(t))
	safe, asked := f.die("wsOutbox", "Anything", "w1", 1), f.die("wsOutbox", "Anything", "w2", 1)
	review, known := f.die("orgOutbox", "SkillRecognitionGranted", "o1", 1), f.die("tagOutbox", "TagLifecycleEvent", "t1", 1)
	waiting := f.die("orgOutbox", "SkillRecognitionGranted", "o2", 1)
	f.decide(asked.ID, dlq.Replay, operator)
	f.decide(waiting.ID, dlq.Replay, operator)
	discard := dlq.Decide{Action: dlq.Discard, Actor: operator, Reason: "because"}
	_, err := f.queue.Decide(t.Context(), safe.ID, discard)
	refused(t, err, dlq.Conflict)
	f.without("wsOutbox")
	f.without("orgOutbox")
	for _, i := range []*dlq.Item{safe, review} {
		_, err := f.queue.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "because"})
		if r := refusal(t, err); r.Kind != dlq.Orphaned || !strings.Contains(r.Hint, "catalog") {
			t.Errorf("%s: got %+v, want that it is an orphan, with a hint at the catalog", i.Tier, r)
		}
	}
	_, err = f.queue.Decide(t.Context(), safe.ID, dlq.Decide{Action: dlq.Discard, Actor: viewer, Reason: "because"})
	refused(t, err, dlq.Forbidden)
	_, err = f.queue.Decide(t.Context(), known.ID, discard)
	refused(t, err, dlq.Conflict)
	for _, i := range []*dlq.Item{safe, asked, review, waiting} {
		f.decide(i.ID, dlq.Discard, operator)
		if got := f.item(i.ID); got.State != contracts.DeadDiscarded || got.Replaying != nil || !got.NextReplayAt.IsZero() {
			t.Errorf("got %+v, want it discarded", got)
		}
		f.decide(i.ID, dlq.Note, operator)
	}
}

// TestAnOrphanThatIsDeliveredMeanwhile: an instance with another catalog begins to relay
// its outbox before anybody hears of that. What it delivers was delivered, though the
// dead letter was given up underneath; what fails brings nothing back.
func TestAnOrphanThatIsDeliveredMeanwhile(t *testing.T) {
	for name, tc := range map[string]struct {
		asked   bool
		replays int
		result  dlq.Result
		want    contracts.DeadState
	}{
		"delivered":          {false, 0, dlq.Result{Acked: []string{"FUNNEL"}}, contracts.DeadReplayed},
		"delivered, asked":   {true, 0, dlq.Result{Acked: []string{"FUNNEL"}}, contracts.DeadReplayed},
		"failed":             {false, 0, dlq.Result{Errors: []contracts.AttemptError{{Target: "FUNNEL", Code: "Internal"}}}, contracts.DeadDiscarded},
		"failed a last time": {false, 4, dlq.Result{Errors: []contracts.AttemptError{{Target: "FUNNEL", Code: "Internal"}}}, contracts.DeadDiscarded},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			i := f.letter("wsOutbox", "Anything", "w1", 1)
			i.Replays = tc.replays
			f.bury(i)
			if tc.asked {
				f.decide(i.ID, dlq.Replay, operator)
			}
			relays, began := f.queue, f.item(i.ID)
			f.without("wsOutbox")
			f.decide(i.ID, dlq.Discard, operator)
			if _, err := relays.End(t.Context(), began, tc.result); err != nil {
				t.Fatalf("its end is refused: %v", err)
			}
			got := f.item(i.ID)
			if got.Tier != contracts.SafeAuto || got.State != tc.want || !got.NextReplayAt.IsZero() || got.Replays != tc.replays+1 {
				t.Errorf("it is %s of %s after %d replays, next at %s; want %s of SAFE_AUTO", got.State, got.Tier, got.Replays, got.NextReplayAt, tc.want)
			}
		})
	}
}

// TestWhatAnotherInstanceRelaysIsNoOrphan: catalogs differ during a rollout, or for
// good; what one instance decides is carried out by the one that has the outbox.
func TestWhatAnotherInstanceRelaysIsNoOrphan(t *testing.T) {
	for name, tc := range map[string]struct {
		id     string
		fields map[string]any
		known  bool
	}{
		"it is registered":               {"instance.c", map[string]any{"shares": []any{"wsOutbox"}, "termMillis": int64(15_000)}, true},
		"it is registered with a shard":  {"instance.c", map[string]any{"shares": []any{"wsOutbox.1", "wsOutbox.0"}, "termMillis": int64(15_000)}, true},
		"it has a lease":                 {"wsOutbox", map[string]any{"kind": "lease", "owner": "c", "termMillis": int64(15_000)}, true},
		"another has a similar name":     {"instance.c", map[string]any{"shares": []any{"wsOutbox2", "wsOutbox.x", "wsOutbox."}, "termMillis": int64(15_000)}, false},
		"another has a name that begins": {"instance.c", map[string]any{"shares": []any{"ws"}, "termMillis": int64(15_000)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, newCloud(t))
			safe, waiting := f.die("wsOutbox", "Anything", "w1", 1), f.die("wsOutbox", "Anything", "w2", 1)
			f.without("wsOutbox")
			f.commit(dlq.Write{Collection: contracts.CollectionLeases, ID: tc.id, Op: dlq.OpSet, Fields: tc.fields})
			asked, err := f.queue.Decide(t.Context(), waiting.ID, dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "because"})
			_, discarded := f.queue.Decide(t.Context(), safe.ID, dlq.Decide{Action: dlq.Discard, Actor: operator, Reason: "because"})
			if !tc.known {
				refused(t, err, dlq.Orphaned)
				if discarded != nil {
					t.Errorf("an orphan cannot be discarded: %v", discarded)
				}
				return
			}
			if err != nil || asked.Item.Replaying == nil || !strings.Contains(asked.Order.Message, "not known") {
				t.Errorf("asked for %+v, %v", asked, err)
			}
			refused(t, discarded, dlq.Conflict)
		})
	}
}

// TestKnownOutboxesCostNoRead: the leases are read for the others alone, and once for
// many of them.
func TestKnownOutboxesCostNoRead(t *testing.T) {
	f := setup(t, newCloud(t))
	var looks atomic.Int64
	f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "RunQuery", Collection: contracts.CollectionLeases, Match: func(localfirestore.Call) bool {
		looks.Add(1)
		return false
	}})
	for _, tc := range []struct {
		outbox string
		after  time.Duration
		want   int64
	}{{"wsOutbox", 0, 0}, {"goneOutbox", 0, 1}, {"otherOutbox", time.Second, 1}, {"goneOutbox", time.Minute, 2}} {
		f.now = f.now.Add(tc.after)
		if _, err := f.queue.Relayed(t.Context(), tc.outbox); err != nil || looks.Load() != tc.want {
			t.Errorf("%s: %d looks at the leases, %v, want %d", tc.outbox, looks.Load(), err, tc.want)
		}
	}
}

// TestAbortedCommits: they were not applied, so they are judged again for longer
// than those of which nothing is known.
func TestAbortedCommits(t *testing.T) {
	t.Parallel()
	f := setup(t, newCloud(t))
	i := f.die("accOutbox", "WalletDeducted", "a1", 1)
	f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Code: codes.Aborted, Times: 6})
	f.decide(i.ID, dlq.Discard, operator)
}

// TestOrderIsNotClaimed: what was delivered may be gone.
func TestOrderIsNotClaimed(t *testing.T) {
	f := setup(t, newCloud(t))
	for outbox, event := range map[string]string{"tagOutbox": "TagLifecycleEvent", "wsOutbox": "Anything"} {
		want := map[string]string{"tagOutbox": "not known", "wsOutbox": "retention"}[outbox] // the first deletes
		i := f.die(outbox, event, "x", 1)
		d := f.decide(i.ID, dlq.Replay, operator)
		if m := d.Order.Message; !strings.Contains(m, want) || strings.Contains(m, "is kept") {
			t.Errorf("%s: %q, want it to say %q", outbox, m, want)
		}
	}
	f.commit(dlq.Write{Collection: "tagOutbox", ID: "k", Op: dlq.OpCreate, Fields: map[string]any{
		"aggregateId": "y", "aggregateVersion": 2, "status": "delivered",
	}})
	i := f.die("tagOutbox", "TagLifecycleEvent", "y", 1)
	if d := f.decide(i.ID, dlq.Replay, operator); d.Order.DeliveredSince != 1 || !d.Order.AtLeast {
		t.Errorf("order %+v, want at least 1", d.Order)
	}
}

// TestEndOfUnknownTargets: an item without pending targets keeps what a replay
// did not reach of those that it set out for.
func TestEndOfUnknownTargets(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.letter("wsOutbox", "Anything", "w1", 1)
	i.PendingTargets = nil
	i = f.bury(i)
	got, err := f.queue.End(t.Context(), i, dlq.Result{
		Missing: []string{"A", "B"}, Acked: []string{"A"}, Errors: []contracts.AttemptError{{At: f.now, Target: "B", Code: "Internal"}},
	})
	if err != nil || !slices.Equal(got.PendingTargets, []string{"B"}) {
		t.Errorf("got %+v, %v, want B pending", got, err)
	}
}
