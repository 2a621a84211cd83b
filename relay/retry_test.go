package relay_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	localpubsub "outboxrelay/deploy/local/pubsub"
)

func TestOccasionalFailuresLoseNothing(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(20, 20*time.Millisecond)
	f.breaks(localpubsub.Fault{Code: codes.Internal, Share: 0.05, Seed: 5})
	f.run()
	var all []*contracts.Record
	for _, o := range f.catalog.Outboxes {
		records := f.records(o.Name, 200, 20)
		f.append(records, 20)
		all = append(all, records...)
	}
	if got, want := f.delivered(all), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	if dead := f.deadLetters(); len(dead) > 0 {
		t.Errorf("got %d dead letters, want none", len(dead))
	}
}

func TestAttemptsGoOnAfterARestart(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(3, 100*time.Hour) // the wait is drawn from it: more than a test takes
	f.script(func(context.Context, string, *contracts.Record) error {
		return failure(contracts.Attributable, "Internal")
	})
	record := f.record("wsOutbox", "TaskCompleted", "agg", 1)
	later := f.record("wsOutbox", "TaskCompleted", "agg", 2)
	r := f.run()
	f.append([]*contracts.Record{record, later}, 2)
	f.eventually("the first attempt is stored", func() bool { return f.fields(record.Path())["status"] == "retrying" })
	r.stop()
	fields := f.fields(record.Path())
	if fields["attempts"] != int64(1) || !strings.Contains(fmt.Sprint(fields["lastError"]), "FUNNEL: Internal") || fields["nextAttemptAt"] == nil {
		t.Fatalf("got attempts %v, lastError %v, nextAttemptAt %v", fields["attempts"], fields["lastError"], fields["nextAttemptAt"])
	}

	next := time.Now().Add(500 * time.Millisecond).Truncate(time.Microsecond)
	if err := set("nextAttemptAt", next)(t.Context(), f.db.Doc(record.Path())); err != nil {
		t.Fatal(err)
	}
	f.retries(3, time.Millisecond)
	f.run()
	f.eventually("both are dead", func() bool { return f.unmarked([]*contracts.Record{record, later}, contracts.Dead) == 0 })
	letter := f.deadLetters()[record.IdempotencyKey]
	errors := letter["errors"].([]any)
	var attempts []any
	for _, e := range errors {
		attempts = append(attempts, e.(map[string]any)["attempt"])
	}
	if want := []any{int64(1), int64(2), int64(3)}; !cmp.Equal(attempts, want) || letter["attempts"] != int64(3) {
		t.Errorf("got attempts %v, %v in all; want %v", attempts, letter["attempts"], want)
	}
	if second := errors[1].(map[string]any)["time"].(time.Time); second.Before(next) {
		t.Errorf("the second attempt was at %v, before nextAttemptAt %v", second, next)
	}
}

func TestThirdFailureDeadLetters(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(3, time.Millisecond)
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" {
			return own()
		}
		return nil
	})
	var records []*contracts.Record
	for a := range 30 {
		records = append(records, f.record("schedOutbox", "ScheduleAssigned", fmt.Sprintf("agg-%d", a), 1))
	}
	f.run()
	f.append(records, 10)

	// Status and dead letter come in one commit: no read sees one alone.
	refs := make([]*firestore.DocumentRef, 0, 2*len(records))
	for _, r := range records {
		refs = append(refs, f.db.Doc(r.Path()), f.db.Collection(contracts.CollectionDeadLetters).Doc(r.IdempotencyKey))
	}
	f.eventually("every one is dead", func() bool {
		snaps, err := f.db.GetAll(f.ctx, refs)
		if err != nil {
			t.Fatal(err)
		}
		dead := 0
		for pair := range slices.Chunk(snaps, 2) {
			isDead := pair[0].Data()["status"] == "dead"
			if isDead != pair[1].Exists() {
				t.Fatalf("status dead is %v, but dead letter is there %v", isDead, pair[1].Exists())
			}
			if isDead {
				dead++
			}
		}
		return dead == len(records)
	})
	letter, rec := f.deadLetters()[records[0].IdempotencyKey], records[0]
	for field, want := range map[string]any{
		"tier": "REVIEW_REQUIRED", "originalTier": "REVIEW_REQUIRED", "state": "awaiting_review", "reason": "ATTEMPTS_EXHAUSTED",
		"outbox": "schedOutbox", "recordPath": rec.Path(), "eventId": rec.EventID, "eventType": rec.EventType, "traceId": rec.TraceID,
		"idempotencyKey": rec.IdempotencyKey, "aggregateId": rec.AggregateID, "aggregateVersion": rec.AggregateVersion,
		"lane": "STANDARD_LANE", "pendingTargets": []any{"FUNNEL"}, "attempts": int64(3), "replays": int64(0), "nextReplayAt": nil, "decisions": []any{},
	} {
		got, ok := letter[field]
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("field %s (want -, got +):\n%s", field, diff)
		}
	}
	if _, ok := letter["deadAt"].(time.Time); !ok {
		t.Errorf("deadAt is %v, want a time", letter["deadAt"])
	}
	if record, _ := letter["record"].(map[string]any); record["eventId"] != rec.EventID || record["payload"] == nil {
		t.Errorf("got record %v, want the whole record as it stood", letter["record"])
	}
	errors, _ := letter["errors"].([]any)
	for i, e := range errors {
		m := e.(map[string]any)
		if _, ok := m["time"].(time.Time); !ok || m["target"] != "FUNNEL" || m["code"] != "Internal" || m["attempt"] != int64(i+1) {
			t.Errorf("got error %v", m)
		}
	}
	if len(errors) != 3 {
		t.Errorf("got %d errors, want 3", len(errors))
	}
	f.eventually("NOTIF_ROUTER's messages arrive", func() bool { return f.arrived("NOTIF_ROUTER") >= len(records) })
	if got := f.arrived("NOTIF_ROUTER"); got != len(records) {
		t.Errorf("NOTIF_ROUTER got %d messages, want %d: one for each record whatever the retries", got, len(records))
	}
}

func TestDeadLetterAndStatusFailTogether(t *testing.T) {
	f := setup(t, newCloud(t))
	f.script(func(context.Context, string, *contracts.Record) error {
		return failure(contracts.Permanent, "InvalidArgument")
	})
	var refused atomic.Int64
	mend := f.cloud.embedded.Faults().Add(localfirestore.Fault{
		Method: "Commit", Collection: contracts.CollectionDeadLetters, Code: codes.Aborted,
		Match: func(localfirestore.Call) bool { refused.Add(1); return true },
	})
	f.run()
	records := f.series("wsOutbox", "TaskCompleted", "agg", 1, 5)
	f.append(records, 5)
	f.eventually("the commit failed a few times", func() bool { return refused.Load() >= 3 })
	if n := f.unmarked(records, contracts.Pending); n > 0 {
		t.Errorf("%d records changed although the dead letters were refused", n)
	}
	mend()
	f.eventually("every one is dead", func() bool { return f.unmarked(records, contracts.Dead) == 0 })
	if n := len(f.deadLetters()); n != len(records) {
		t.Errorf("got %d dead letters, want %d", n, len(records))
	}
}

func TestPermanentFailureDeadLettersAtOnce(t *testing.T) {
	f := setup(t, newCloud(t))
	f.script(func(_ context.Context, _ string, r *contracts.Record) error {
		if r.AggregateID == "agg" && r.AggregateVersion == 3 {
			return failure(contracts.Permanent, "InvalidArgument")
		}
		return nil
	})
	f.run()
	records := f.series("wsOutbox", "TaskCompleted", "agg", 1, 10)
	poison, others := records[2], slices.Concat(records[:2], records[3:])
	f.append(records, 10)
	if got, want := f.delivered(others), (judgement{}); got != want {
		t.Errorf("got %+v, want all others once and in order", got)
	}
	letter := f.deadLetters()[poison.IdempotencyKey]
	if letter["reason"] != "PERMANENT_FAILURE" || letter["attempts"] != int64(1) || letter["state"] != "scheduled" {
		t.Errorf("got reason %v after %v attempts in state %v", letter["reason"], letter["attempts"], letter["state"])
	}
}

// What an aggregate took into memory before its head failed leaves again.
func TestFailingAggregateThatFilledTheMemoryMakesRoom(t *testing.T) { makesRoom(t, newCloud(t)) }

func TestFailingAggregateThatFilledTheMemoryMakesRoomOnGoogle(t *testing.T) {
	makesRoom(t, onGoogle(t))
}

func makesRoom(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.shrink(20, 30)
	f.tuning.Behind = 8
	f.retries(3, 10_000*time.Hour) // the wait is drawn from it: for each more than a test takes
	full := make(chan struct{})
	var failed atomic.Int64
	f.script(func(ctx context.Context, _ string, r *contracts.Record) error {
		if r.AggregateID != "failing" || r.AggregateVersion > 1 {
			return nil
		}
		select {
		case <-full:
		case <-ctx.Done():
		}
		failed.Add(1)
		return own()
	})
	r := f.run()
	failing := f.series("wsOutbox", "TaskCompleted", "failing", 1, 100)
	f.append(failing, 50)
	f.eventually("the memory is full", func() bool { return r.outbox("wsOutbox").InMemory >= 30 })
	close(full)
	others := f.series("wsOutbox", "TaskCompleted", "fine", 1, 20)
	f.append(others, 20)
	if got, want := f.delivered(others), (judgement{}); got != want {
		t.Errorf("others: got %+v, want every record once and in order", got)
	}
	f.eventually("half of them are left behind", func() bool { return r.outbox("wsOutbox").InMemory <= 16 })
	if n := failed.Load(); n != 1 {
		t.Errorf("the head failed %d times, want once", n)
	}
	if n := f.arrivals("failing"); n > 0 {
		t.Errorf("%d records arrived of the aggregate whose head failed", n)
	}
}

func TestFailingAggregateHoldsBackItselfAlone(t *testing.T) {
	f := setup(t, newCloud(t))
	f.shrink(20, 30)
	f.tuning.Behind = 8
	f.retries(1_000_000, 10*time.Millisecond)
	var mended atomic.Bool
	f.script(func(_ context.Context, _ string, r *contracts.Record) error {
		if r.AggregateID == "failing" && !mended.Load() {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	r := f.run()
	failing := f.series("wsOutbox", "TaskCompleted", "failing", 1, 300)
	f.append(failing, 50)
	var others []*contracts.Record
	for a := range 5 {
		others = append(others, f.series("wsOutbox", "TaskCompleted", fmt.Sprintf("fine-%d", a), 1, 20)...)
	}
	f.append(others, 20)
	if got, want := f.delivered(others), (judgement{}); got != want {
		t.Errorf("others: got %+v, want every record once and in order", got)
	}
	if n := r.outbox("wsOutbox").InMemory; n > 2*30 {
		t.Errorf("%d records are in memory, want no more than there is room for", n)
	}
	mended.Store(true)
	if got, want := f.delivered(slices.Concat(failing, others)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing is left behind", func() bool { o := r.outbox("wsOutbox"); return o.InMemory == 0 && o.LeftBehind == 0 })
}
