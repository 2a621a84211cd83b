package relay_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// A replay takes its turn among the live records of its aggregate, and one
// item is in one replay at a time.
func TestReplayTakesItsTurn(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	_, bury := f.deadSchedule(1)
	r := f.run()
	item := bury()
	f.pause(r, contracts.StandardLane)
	rounds, fail := make(chan dlq.Round, 1), make(chan error, 1)
	go func() {
		round, err := r.relay.Replay(t.Context(), item)
		rounds <- round
		fail <- err
	}()
	f.eventually("it is queued", func() bool { return r.lane(contracts.StandardLane).Queued == 1 })
	later := f.series("schedOutbox", "ScheduleAssigned", "schedule", 2, 4)
	f.append(later, 3)
	f.eventually("the later records queue behind it", func() bool { return r.lane(contracts.StandardLane).Queued == 4 })
	if _, err := r.relay.Replay(t.Context(), item); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Errorf("a second replay of it ended with %v, want that one is under way", err)
	}
	breaches := r.lane(contracts.StandardLane).Breaches
	f.resume(r, contracts.StandardLane)
	if got, err := <-rounds, <-fail; err != nil || !cmp.Equal(got.Acked, []string{"FUNNEL"}) {
		t.Fatalf("got %+v and %v", got, err)
	}
	f.delivered(later)
	var versions []int64
	for _, m := range f.inbox.all() {
		if m.attributes["target"] == "FUNNEL" {
			versions = append(versions, m.envelope.AggregateVersion)
		}
	}
	if want := []int64{1, 2, 3, 4}; !cmp.Equal(versions, want) {
		t.Errorf("FUNNEL got versions %v, want %v", versions, want)
	}
	// A record may be marked a moment before its lane has counted it.
	f.eventually("the lane has counted the later ones", func() bool { return r.lane(contracts.StandardLane).Delivered >= int64(len(later)) })
	if h := r.lane(contracts.StandardLane); h.Delivered != int64(len(later)) || h.Breaches != breaches && h.Breaches > breaches+int64(len(later)) {
		t.Errorf("the lane counts %d delivered records and %d late ones, want replays left out", h.Delivered, h.Breaches)
	}
}

// A freeze holds no replay: authorizing one is how the frozen record gets on.
func TestReplayPassesAFreeze(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	_, bury := f.deadSchedule(1)
	r := f.run()
	item := bury()
	f.pause(r, contracts.StandardLane)
	rounds := make(chan dlq.Round, 1)
	go func() {
		round, _ := r.relay.Replay(t.Context(), item)
		rounds <- round
	}()
	f.eventually("it is queued", func() bool { return r.lane(contracts.StandardLane).Queued == 1 })
	later := f.series("schedOutbox", "ScheduleAssigned", "schedule", 2, 4)
	f.append(later, 3)
	f.eventually("the later records queue behind it", func() bool { return r.lane(contracts.StandardLane).Queued == 4 })
	f.freeze("schedule", dlq.Frozen)
	f.held(later)
	f.resume(r, contracts.StandardLane)
	if got := <-rounds; !cmp.Equal(got.Acked, []string{"FUNNEL"}) {
		t.Errorf("got %+v, want it delivered", got)
	}
}

// A dead letter may have been written late, by an owner that had lost its lease,
// beside a record that the next one delivered.
func TestReplayLeavesOutWhoHasTheRecordByItsDocument(t *testing.T) {
	t.Parallel()
	replayLeavesOut(t, newCloud)
}

func TestReplayLeavesOutWhoHasTheRecordByItsDocumentOnGoogle(t *testing.T) {
	onGoogle(t) // or skips
	replayLeavesOut(t, onGoogle)
}

func replayLeavesOut(t *testing.T, start func(*testing.T) *cloud) {
	tests := map[string]struct {
		pending []string
		key     string // of the document that stands there now
		arrives bool
		failed  string // for which target
	}{
		"delivered":            {[]string{"FUNNEL"}, "", false, ""},
		"and one is unrouted":  {[]string{"OLD", "FUNNEL"}, "", false, "OLD"},
		"it is another record": {[]string{"FUNNEL"}, "another:1", true, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := setup(t, start(t))
			f.withQueue(nil)
			record, bury := f.deadSchedule(1)
			r := f.run()
			item := bury()
			item.PendingTargets = test.pending
			before := f.arrived("FUNNEL")
			updates := []firestore.Update{
				{Path: "status", Value: "delivered"}, {Path: "deliveredTargets", Value: firestore.ArrayUnion("FUNNEL")},
			}
			if test.key != "" {
				updates = append(updates, firestore.Update{Path: "idempotencyKey", Value: test.key})
			}
			if _, err := f.db.Doc(record.Path()).Update(f.ctx, updates); err != nil {
				t.Fatal(err)
			}
			got := r.replay(item)
			if arrives := len(got.Acked) > 0; arrives != test.arrives || len(got.Blocked) > 0 {
				t.Errorf("got %+v, want that it arrives: %v", got, test.arrives)
			}
			if test.arrives {
				f.eventually("it arrives", func() bool { return f.arrived("FUNNEL") > before })
			} else if n := f.arrived("FUNNEL"); n != before {
				t.Errorf("FUNNEL got %d messages, want %d", n, before)
			}
			failed := ""
			for _, e := range got.Failed {
				failed += e.Target
			}
			if failed != test.failed {
				t.Errorf("it failed for %q, want %q", failed, test.failed)
			}
		})
	}
}

func TestReplayIsGivenBack(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"its context ends", "the relay stops"} {
		t.Run(how, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.withQueue(nil)
			_, bury := f.deadSchedule(1)
			r := f.run()
			item := bury()
			f.pause(r, contracts.StandardLane)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			fail := make(chan error, 1)
			go func() { _, err := r.relay.Replay(ctx, item); fail <- err }()
			f.eventually("it is queued", func() bool { return r.lane(contracts.StandardLane).Queued == 1 })
			if how == "the relay stops" {
				r.stop()
				if err := <-fail; err == nil {
					t.Error("got no error of a replay that was not delivered")
				}
				return
			}
			cancel()
			if err := <-fail; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want that its context ended", err)
			}
			f.eventually("it is out of the lane", func() bool { return r.lane(contracts.StandardLane).Queued == 0 })
			f.resume(r, contracts.StandardLane)
			if got := r.replay(item); !slices.Equal(got.Acked, []string{"FUNNEL"}) {
				t.Errorf("got %+v, want it delivered later", got)
			}
			if n := f.arrived("FUNNEL"); n > 1 {
				t.Errorf("FUNNEL got %d messages, want 1", n)
			}
		})
	}
}
