package relay_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/dlq"
)

// deadSchedule makes a dead letter that NOTIF_ROUTER has and FUNNEL lacks, and
// mends FUNNEL.
func (f *fixture) deadSchedule(version int64) (*contracts.Record, func() *dlq.Item) {
	f.t.Helper()
	f.retries(3, time.Millisecond)
	record := f.record("schedOutbox", "ScheduleAssigned", "schedule", version)
	var mended atomic.Bool
	f.script(func(ctx context.Context, target string, _ *contracts.Record) error {
		if target != "FUNNEL" {
			return nil
		}
		if !mended.Load() {
			return failure(contracts.Attributable, "Internal")
		}
		if wait := f.waits.Load(); wait != nil {
			(*wait)(ctx)
		}
		return nil
	})
	return record, func() *dlq.Item {
		f.t.Helper()
		f.append([]*contracts.Record{record}, 1)
		f.eventually("it is dead", func() bool { return f.unmarked([]*contracts.Record{record}, contracts.Dead) == 0 })
		mended.Store(true)
		return f.item(record)
	}
}

// delay makes each delivery after that of deadSchedule tell in, and wait for out.
func (f *fixture) delay(in chan<- struct{}, out <-chan struct{}) {
	wait := func(ctx context.Context) {
		in <- struct{}{}
		select {
		case <-out:
		case <-ctx.Done():
		}
	}
	f.waits.Store(&wait)
}

// item reads a record's dead letter.
func (f *fixture) item(r *contracts.Record) *dlq.Item {
	f.t.Helper()
	item, err := f.queue.Item(f.ctx, dlq.ID(r.IdempotencyKey))
	if err != nil {
		f.t.Fatal(err)
	}
	return item
}

// replay replays an item.
func (r *running) replay(item *dlq.Item) dlq.Round {
	r.f.t.Helper()
	round, err := r.relay.Replay(r.f.ctx, item)
	if err != nil {
		r.f.t.Fatal(err)
	}
	return round
}

func TestReplayGoesToTheMissingTargetsAlone(t *testing.T)         { replays(t, newCloud(t)) }
func TestReplayGoesToTheMissingTargetsAloneOnGoogle(t *testing.T) { replays(t, onGoogle(t)) }

func replays(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.withQueue(nil)
	record, bury := f.deadSchedule(1)
	r := f.run()
	item := bury()
	if got, want := r.replay(item), (dlq.Round{Acked: []string{"FUNNEL"}, Missing: []string{"FUNNEL"}}); !cmp.Equal(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	f.eventually("the replay and what came before it arrive", func() bool { return f.judge([]*contracts.Record{record}).missing == 0 })
	for _, m := range f.inbox.all() {
		want := map[string]string{"target": "NOTIF_ROUTER", "replay": "", "idempotencyKey": record.IdempotencyKey, "traceId": record.TraceID}
		if m.attributes["target"] == "FUNNEL" {
			want["target"], want["replay"] = "FUNNEL", item.ID
		}
		for name, want := range want {
			if got := m.attributes[name]; got != want {
				t.Errorf("%s: attribute %s is %q, want %q", m.topic, name, got, want)
			}
		}
		if m.envelope.IdempotencyKey != record.IdempotencyKey || m.envelope.AggregateVersion != 1 || len(m.envelope.Payload) == 0 {
			t.Errorf("got envelope %+v", m.envelope)
		}
	}
	if n := len(f.inbox.all()); n != 2 {
		t.Errorf("got %d messages, want one at each target", n)
	}
	if status := f.fields(record.Path())["status"]; status != "dead" {
		t.Errorf("the record is %v, want it left to the queue", status)
	}
	if n := r.metric("relay_replay_rounds_total", "outcome", "delivered"); n != 1 {
		t.Errorf("got %v delivered rounds counted, want 1", n)
	}
}

func TestReplayJudgesBeforeItDelivers(t *testing.T) {
	tests := []struct {
		name   string
		change func(f *fixture, item *dlq.Item, record *contracts.Record)
		want   dlq.Round
		codes  []string // of the failures
	}{
		{"as it is", func(*fixture, *dlq.Item, *contracts.Record) {}, dlq.Round{Acked: []string{"FUNNEL"}, Missing: []string{"FUNNEL"}}, nil},
		{
			"nothing is missing", func(_ *fixture, item *dlq.Item, _ *contracts.Record) {
				item.Record["deliveredTargets"] = []any{"NOTIF_ROUTER", "FUNNEL"}
			}, dlq.Round{}, nil,
		},
		{
			"it does not say what is pending", func(_ *fixture, item *dlq.Item, _ *contracts.Record) { item.PendingTargets = nil },
			dlq.Round{Acked: []string{"FUNNEL"}, Missing: []string{"FUNNEL"}},
			nil,
		},
		{
			"the catalog does not route it there any more", func(_ *fixture, item *dlq.Item, _ *contracts.Record) { item.PendingTargets = []string{"OLD"} },
			dlq.Round{},
			[]string{"Unrouted"},
		},
		{
			"the catalog does not route it to one of two any more",
			func(_ *fixture, item *dlq.Item, _ *contracts.Record) { item.PendingTargets = []string{"OLD", "FUNNEL"} },
			dlq.Round{Acked: []string{"FUNNEL"}, Missing: []string{"FUNNEL"}},
			[]string{"Unrouted"},
		},
		{
			"it breaks the contract", func(_ *fixture, item *dlq.Item, _ *contracts.Record) {
				delete(item.Record, "traceId")
				item.Record["payload"] = "text"
			}, dlq.Round{}, []string{"CONTRACT_VIOLATION", "CONTRACT_VIOLATION"},
		},
		{
			"its payload stands in the outbox alone", func(_ *fixture, item *dlq.Item, _ *contracts.Record) {
				delete(item.Record, "payload")
				item.RecordTrimmed = true
			}, dlq.Round{Acked: []string{"FUNNEL"}, Missing: []string{"FUNNEL"}}, nil,
		},
		{
			"its payload is gone", func(f *fixture, item *dlq.Item, record *contracts.Record) {
				item.RecordTrimmed = true
				if err := remove(f.ctx, f.db.Doc(record.Path())); err != nil {
					f.t.Fatal(err)
				}
			}, dlq.Round{}, []string{"RecordGone"},
		},
		{
			"its record is gone, and its payload stands in the body of its message", func(f *fixture, item *dlq.Item, record *contracts.Record) {
				delete(item.Record, "payload")
				body, err := contracts.MarshalEnvelope(record)
				if err != nil {
					f.t.Fatal(err)
				}
				item.Record["envelope"], item.RecordTrimmed = string(body), true
			}, dlq.Round{Acked: []string{"FUNNEL"}, Missing: []string{"FUNNEL"}}, nil,
		},
	}
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	record, bury := f.deadSchedule(1)
	r := f.run()
	bury()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f.t = t
			item := f.item(record)
			test.change(f, item, record)
			round := r.replay(item)
			var got []string
			for _, e := range round.Failed {
				got = append(got, e.Code)
				if e.At.IsZero() || e.Attempt != 4 || e.Message == "" {
					t.Errorf("got failure %+v", e)
				}
			}
			if round.Failed = nil; !cmp.Equal(round, test.want) || !cmp.Equal(got, test.codes) {
				t.Errorf("got %+v and failures %v, want %+v and %v", round, got, test.want, test.codes)
			}
		})
	}
	f.t = t
}

func TestReplayTellsFailuresFromOutages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault localpubsub.Fault
		want  dlq.Round
	}{
		{"a failure", localpubsub.Fault{Code: codes.Internal}, dlq.Round{Failed: []contracts.AttemptError{{Attempt: 4, Target: "FUNNEL", Code: "Internal"}}, Missing: []string{"FUNNEL"}}},
		{"an outage", localpubsub.Fault{Code: codes.Unavailable}, dlq.Round{Blocked: []string{"FUNNEL"}, Missing: []string{"FUNNEL"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.withQueue(nil)
			_, bury := f.deadSchedule(1)
			r := f.run()
			item := bury()
			test.fault.Topic = f.catalog.Targets["FUNNEL"].Topic
			mend := f.breaks(test.fault)
			rings := f.queue.Hear(dlq.BellReplays)
			ignored := cmpopts.IgnoreFields(contracts.AttemptError{}, "At", "Message")
			if diff := cmp.Diff(test.want, r.replay(item), ignored); diff != "" {
				t.Errorf("round (want -, got +):\n%s", diff)
			}
			if test.want.Blocked != nil {
				// An outage counts nothing: what is not routed any more is told of later.
				partly := *item
				partly.PendingTargets = []string{"OLD", "FUNNEL"}
				if got := r.replay(&partly); !cmp.Equal(got, test.want) {
					t.Errorf("with a target that is not routed any more: got %+v, want %+v", got, test.want)
				}
				f.eventually("the breaker opens", func() bool { r.replay(item); return f.breakerOpen(r, "FUNNEL") })
				if got := r.replay(item); !cmp.Equal(got, test.want) {
					t.Errorf("while the breaker is open: got %+v, want %+v", got, test.want)
				}
			}
			mend()
			f.eventually("it is delivered", func() bool {
				return cmp.Equal(r.replay(item), dlq.Round{Acked: []string{"FUNNEL"}, Missing: []string{"FUNNEL"}})
			})
			if test.want.Blocked != nil {
				<-rings // the breaker closed
			}
		})
	}
}

// A record that has an outage of its own at a target that answers others fails
// in the end.
func TestReplayWithAnOutageOfItsOwnFails(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	f.tuning.OutageTolerance = 2
	record, bury := f.deadSchedule(1)
	var buried atomic.Bool
	f.retries(3, time.Millisecond)
	f.script(func(_ context.Context, target string, r *contracts.Record) error {
		switch {
		case target != "FUNNEL" || r.EventID != record.EventID:
			return nil
		case buried.Load():
			return failure(contracts.Outage, "DeadlineExceeded")
		}
		return failure(contracts.Attributable, "Internal")
	})
	r := f.run()
	item := bury()
	buried.Store(true)
	var rounds []string
	for range 3 {
		round := r.replay(item)
		if len(round.Failed) > 0 {
			rounds = append(rounds, round.Failed[0].Code)
		} else {
			rounds = append(rounds, "blocked")
		}
	}
	if want := []string{"blocked", "blocked", "DeadlineExceeded"}; !cmp.Equal(rounds, want) {
		t.Errorf("got rounds %v, want %v", rounds, want)
	}
}
