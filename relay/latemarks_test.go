package relay_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// What an owner writes that has lost its outbox may come after the next one has read
// the record.

func TestLateProgressIsKept(t *testing.T)         { keepsLateProgress(t, newCloud(t)) }
func TestLateProgressIsKeptOnGoogle(t *testing.T) { keepsLateProgress(t, onGoogle(t)) }

func keepsLateProgress(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.retries(3, 100*time.Hour) // the wait is drawn from it
	record := f.record("schedOutbox", "ScheduleAssigned", "schedule", 1)
	var late sync.Once
	f.script(func(ctx context.Context, target string, _ *contracts.Record) error {
		if target != "NOTIF_ROUTER" {
			return nil
		}
		late.Do(func() {
			if err := set("deliveredTargets", []string{"NOTIF_ROUTER"})(ctx, f.db.Doc(record.Path())); err != nil {
				t.Error(err)
			}
		})
		return failure(contracts.Attributable, "Internal")
	})
	f.run()
	f.append([]*contracts.Record{record}, 1)
	f.eventually("the attempt is stored", func() bool { return f.fields(record.Path())["status"] == "retrying" })
	if diff := cmp.Diff([]any{"FUNNEL", "NOTIF_ROUTER"}, f.fields(record.Path())["deliveredTargets"]); diff != "" {
		t.Errorf("delivered targets (-want +got):\n%s", diff)
	}
}

func TestReplayOfALateDeadLetterGoesOnce(t *testing.T) { replaysALateLetterOnce(t, newCloud(t)) }

func TestReplayOfALateDeadLetterGoesOnceOnGoogle(t *testing.T) {
	replaysALateLetterOnce(t, onGoogle(t))
}

func replaysALateLetterOnce(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.withQueue(nil)
	f.retries(3, 100*time.Hour) // the replay does not wait for the record's turn
	record := f.record("schedOutbox", "ScheduleAssigned", "schedule", 1)
	var failed sync.Once
	f.script(func(_ context.Context, target string, _ *contracts.Record) (err error) {
		if target == "FUNNEL" {
			failed.Do(func() { err = failure(contracts.Attributable, "Internal") })
		}
		return err
	})
	r := f.run()
	f.append([]*contracts.Record{record}, 1)
	f.eventually("it waits in memory", func() bool { return f.fields(record.Path())["status"] == "retrying" })
	item := f.lateLetter(record)
	if got := r.replay(item); !cmp.Equal(got.Acked, []string{"FUNNEL"}) {
		t.Errorf("the replay reaches %v, want FUNNEL alone", got.Acked)
	}
	f.eventually("the record has left memory", func() bool { return r.inMemory() == 0 })
	f.eventually("its messages arrive", func() bool { return f.messages(record.EventID) >= 2 })
	if n := f.messages(record.EventID); n != 2 {
		t.Errorf("%d messages, want one for each of its two targets", n)
	}
}

// Its turn ends while the letter's replay waits for that: nothing waits for another one of it.
func TestReplayOfALateDeadLetterWaitsForNoRetry(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	f.retries(3, 100*time.Hour)
	record := f.record("schedOutbox", "ScheduleAssigned", "schedule", 1)
	underWay, fails := make(chan struct{}), make(chan struct{})
	var failed sync.Once
	f.script(func(_ context.Context, target string, _ *contracts.Record) (err error) {
		if target == "FUNNEL" {
			failed.Do(func() {
				close(underWay)
				<-fails
				err = failure(contracts.Attributable, "Internal")
			})
		}
		return err
	})
	r := f.run()
	f.append([]*contracts.Record{record}, 1)
	<-underWay
	item := f.lateLetter(record)
	rounds := make(chan dlq.Round, 1)
	go func() {
		round, _ := r.relay.Replay(f.ctx, item)
		rounds <- round
	}()
	f.eventually("the replay is queued", func() bool { return r.lane(contracts.StandardLane).Queued == 1 })
	close(fails)
	f.eventually("the replay is over", func() bool { return len(rounds) == 1 })
	if got := <-rounds; !cmp.Equal(got.Acked, []string{"FUNNEL"}) {
		t.Errorf("the replay reaches %v, want FUNNEL", got.Acked)
	}
}

// lateLetter has r dead-lettered by an owner that lost its outbox.
func (f *fixture) lateLetter(r *contracts.Record) *dlq.Item {
	f.t.Helper()
	fields := f.fields(r.Path())
	fields["status"] = string(contracts.Dead)
	item := &dlq.Item{
		ID: dlq.ID(r.IdempotencyKey), Tier: contracts.ReviewRequired, OriginalTier: contracts.ReviewRequired, State: contracts.DeadAwaitingReview,
		Reason: contracts.AttemptsExhausted, Outbox: r.Outbox, RecordPath: r.Path(), Record: r.ProducerFields(), EventID: r.EventID,
		EventType: r.EventType, TraceID: r.TraceID, IdempotencyKey: r.IdempotencyKey, AggregateID: r.AggregateID, AggregateVersion: r.AggregateVersion,
		Lane: r.Lane, Attempts: 3, DeadAt: time.Now().Truncate(time.Microsecond),
	}
	item.Record[contracts.FieldCreatedAt] = fields[contracts.FieldCreatedAt]
	f.leftBy(nil, nil, append(item.Burial(false), dlq.Write{Collection: r.Outbox, ID: r.ID, Op: dlq.OpSet, Fields: fields})...)
	return item
}
