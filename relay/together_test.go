package relay_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	"outboxrelay/dlq/replayer"
	"outboxrelay/dlq/sibling"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay"
)

var (
	guard  = dlq.Actor{Name: "guard@example.com", Role: dlq.Security}
	guard2 = dlq.Actor{Name: "guard-2@example.com", Role: dlq.Security}
)

// The relay is where the siblings' replays go.
var (
	_ replayer.Lanes        = (*relay.Relay)(nil)
	_ replayer.Reachability = (*relay.Relay)(nil)
)

// withSiblings has the relay run the queue's own siblings.
func (f *fixture) withSiblings() {
	f.t.Helper()
	f.withQueue(nil)
	alerts, err := ierpubsub.NewPublisher(f.topics.Background(), contracts.TopicErrors, f.publish)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		alerts.Close(ctx)
	})
	cfg := dlqtest.Config{Config: sibling.Config{Log: f.log, RetryMin: 20 * time.Millisecond}, PauseMin: 20 * time.Millisecond, PauseMax: 100 * time.Millisecond}
	f.join = func(r *relay.Relay, queue *dlq.Queue) {
		cfg := cfg
		cfg.Leads = r.Leads
		replayer, err := dlqtest.Replayer(queue, r, cfg)
		if err != nil {
			f.t.Fatal(err)
		}
		review, err := dlqtest.Review(queue, r, cfg)
		if err != nil {
			f.t.Fatal(err)
		}
		freezer, err := dlqtest.Freezer(queue, r, alerts, cfg)
		if err != nil {
			f.t.Fatal(err)
		}
		r.Join(relay.Sibling{Name: "replayer", Run: replayer.Run}, relay.Sibling{Name: "review", Run: review.Run}, relay.Sibling{Name: "freezer", Run: freezer.Run})
	}
}

func (f *fixture) decide(r *contracts.Record, action dlq.Action, actor dlq.Actor) {
	f.t.Helper()
	if _, err := f.queue.Decide(f.ctx, dlq.ID(r.IdempotencyKey), dlq.Decide{Action: action, Actor: actor, Reason: "looked into"}); err != nil {
		f.t.Fatalf("%s: %v", action, err)
	}
}

func TestDeadLettersComeBack(t *testing.T)         { comeBack(t, newCloud(t)) }
func TestDeadLettersComeBackOnGoogle(t *testing.T) { comeBack(t, onGoogle(t)) }

// Each tier's way from a dead letter to its delivery, with all parts of the
// service but its HTTP API.
func comeBack(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.retries(3, time.Millisecond)
	f.catalog.Replay.Delays = slices.Repeat([]time.Duration{50 * time.Millisecond}, 10_000) // until it is mended
	safe := f.record("wsOutbox", "TaskCompleted", "task", 1)                                // SAFE_AUTO
	review := f.record("schedOutbox", "ScheduleProposed", "plan", 1)                        // REVIEW_REQUIRED
	roles := f.series("accOutbox", "RoleChanged", account, 1, 6)                            // SECURITY_BLOCK
	tasks := f.series("wsOutbox", "TaskCompleted", account, 1, 10)
	var mended atomic.Bool
	f.script(func(_ context.Context, _ string, r *contracts.Record) error {
		if !mended.Load() && slices.Contains([]string{safe.EventID, review.EventID, roles[0].EventID}, r.EventID) {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	f.withSiblings()
	r := f.run()
	dead := []*contracts.Record{safe, review, roles[0]}
	f.append(slices.Concat(dead, roles[1:]), 8)
	f.eventually("one of each tier is dead", func() bool { return f.unmarked(dead, contracts.Dead) == 0 })
	f.append(tasks, 5)
	f.held(slices.Concat(roles[1:], tasks))
	f.eventually("the alert is published", func() bool {
		docs, err := f.db.Collection(contracts.CollectionErrorLog).Documents(f.ctx).GetAll()
		return err == nil && len(docs) == 1 && docs[0].Data()["publishedAt"] != nil
	})
	mended.Store(true)

	f.delivered([]*contracts.Record{safe}) // by itself
	f.decide(review, dlq.Replay, operator)
	f.decide(roles[0], dlq.Authorize, guard)
	f.decide(roles[0], dlq.Replay, guard2)
	if got, want := f.delivered(dead), (judgement{}); got != want {
		t.Errorf("dead letters: got %+v, want each delivered once", got)
	}
	if n := f.unmarked(slices.Concat(roles[1:], tasks), contracts.Held); n > 0 {
		t.Errorf("%d records of the frozen account went on before its release", n)
	}
	for _, r := range dead {
		if item := f.item(r); item.State != contracts.DeadReplayed || item.Replays < 1 {
			t.Errorf("the dead letter of %s is %s after %d replays", r.EventType, item.State, item.Replays)
		}
	}
	if _, err := f.queue.Release(t.Context(), account, dlq.Release{Actor: guard, Reason: "mended"}); err != nil {
		t.Fatal(err)
	}
	if got, want := f.delivered(slices.Concat(dead[:2], roles, tasks)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing is frozen", func() bool { return r.relay.Health().Frozen == 0 && f.freezeGone() })
}

func (f *fixture) freezeGone() bool {
	return f.fields(contracts.CollectionFrozen+"/"+dlq.FreezeID(account)) == nil
}
