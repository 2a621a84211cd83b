package relay_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// What stands in Firestore as an instance left it that is gone comes to its end
// in a relay that ran all the while. See the table in the package's documentation.

// leftBy puts records as an instance left them, with what it wrote to them, in one
// commit with anything else.
func (f *fixture) leftBy(records []*contracts.Record, wrote map[string]any, also ...dlq.Write) {
	f.t.Helper()
	writes := also
	for _, r := range records {
		fields := r.ProducerFields()
		fields[contracts.FieldCreatedAt] = dlq.ServerTime{}
		maps.Copy(fields, wrote)
		writes = append(writes, dlq.Write{Collection: r.Outbox, ID: r.ID, Op: dlq.OpSet, Fields: fields})
	}
	if _, err := dlqfirestore.New(f.db).Commit(f.ctx, writes); err != nil {
		f.t.Fatal(err)
	}
}

// sweeping is a relay with all its siblings that runs, and sweeps often.
func (f *fixture) sweeping() *running {
	f.t.Helper()
	f.tuning.SweepInterval, f.tuning.SweepAge = 100*time.Millisecond, 600*time.Millisecond
	f.withSiblings()
	r := f.run()
	r.alive()
	return r
}

// One of two targets has the record: the other gets it, and the first nothing more.
func TestWhatWasBegunElsewhereIsFinished(t *testing.T) {
	const has, lacks = "NOTIF_ROUTER", "FUNNEL"
	progress := func(status contracts.Status, more map[string]any) map[string]any {
		fields := map[string]any{"status": string(status), "attempts": 2, "deliveredTargets": []string{has}, "lastError": lacks + ": Internal: no"}
		maps.Copy(fields, more)
		return fields
	}
	left := map[string]map[string]any{
		"pending":                        progress(contracts.Pending, nil),
		"retrying, long due":             progress(contracts.Retrying, map[string]any{"nextAttemptAt": time.Now().Add(-time.Hour)}),
		"retrying, due in a moment":      progress(contracts.Retrying, map[string]any{"nextAttemptAt": time.Now().Add(2 * time.Second)}),
		"retrying, without a time":       progress(contracts.Retrying, nil),
		"held, and never frozen":         progress(contracts.Held, nil),
		"held, with the time of a retry": progress(contracts.Held, map[string]any{"nextAttemptAt": time.Now().Add(time.Hour)}),
	}
	f := setup(t, newCloud(t))
	f.retries(3, time.Millisecond)
	f.script(func(_ context.Context, target string, r *contracts.Record) error {
		if target == lacks && r.AggregateID == "failing" {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	r := f.sweeping()
	records := make(map[string]*contracts.Record)
	for name, wrote := range left {
		records[name] = f.record("schedOutbox", "ScheduleAssigned", name, 1)
		f.leftBy([]*contracts.Record{records[name]}, wrote)
	}
	failing := f.record("schedOutbox", "ScheduleAssigned", "failing", 1)
	f.leftBy([]*contracts.Record{failing}, left["retrying, long due"])
	all := slices.Collect(maps.Values(records))
	f.eventually("all are delivered", func() bool { return f.unmarked(all, contracts.Delivered) == 0 })
	f.eventually("their messages arrive", func() bool { return f.arrived(lacks) >= len(all) })
	for name, record := range records {
		if n := f.messages(record.EventID); n != 1 {
			t.Errorf("%s: %d messages, want that of the target that lacked it", name, n)
		}
	}
	if n := f.arrived(has); n > 0 {
		t.Errorf("%d messages came to a target that had them", n)
	}
	f.dead(failing)
	if item := f.item(failing); item.Attempts != 3 || item.Reason != contracts.AttemptsExhausted {
		t.Errorf("the one that fails on is dead after %d attempts for %s, want the third", item.Attempts, item.Reason)
	}
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
}

// frozenElsewhere has the running relay know that the aggregate is frozen.
func (f *fixture) frozenElsewhere(r *running, aggregates ...string) {
	f.t.Helper()
	for _, aggregateID := range aggregates {
		f.freeze(aggregateID, dlq.Frozen)
	}
	f.eventually("the freezes are known", func() bool { return r.relay.Health().Frozen == len(aggregates) })
}

// freezeGoes is the write that makes a freeze one that is released, as the
// decision does.
func freezeGoes(aggregateID string) dlq.Write {
	return dlq.Write{Collection: contracts.CollectionFrozen, ID: dlq.FreezeID(aggregateID), Op: dlq.OpMerge, Fields: map[string]any{
		"state": string(dlq.Releasing), "releasedBy": guard.Name, "releasedAt": time.Now(), "release": "decision-" + aggregateID,
	}}
}

// A record of a frozen aggregate becomes held whatever its status was, and goes on
// with the release, in order.
func TestRecordsOfAFrozenAggregateAreHeldWhateverTheyWere(t *testing.T) {
	f := setup(t, newCloud(t))
	r := f.sweeping()
	f.frozenElsewhere(r, account)
	records := f.series("wsOutbox", "TaskCompleted", account, 1, 6)
	f.leftBy(records[:2], map[string]any{"status": "held"})
	f.leftBy(records[2:4], map[string]any{"status": "retrying", "attempts": 1, "nextAttemptAt": time.Now().Add(-time.Minute)})
	f.leftBy(records[4:], nil)
	f.held(records)
	f.leftBy(nil, nil, freezeGoes(account))
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("the freeze is gone", f.freezeGone)
}

// A freeze whose state is none that the relay knows, as one that was written by hand
// or by a later version, holds: only what says that it is released goes on.
func TestFreezeOfAnUnknownStateHolds(t *testing.T) {
	t.Parallel()
	for _, state := range []any{"FROZEN", "", nil, 7} {
		t.Run(fmt.Sprintf("%#v", state), func(t *testing.T) {
			f := setup(t, newCloud(t))
			r := f.sweeping()
			f.leftBy(nil, nil, dlq.Write{Collection: contracts.CollectionFrozen, ID: dlq.FreezeID(account), Op: dlq.OpSet, Fields: map[string]any{
				"aggregateId": account, "state": state,
			}})
			f.eventually("the freeze is known", func() bool { return r.relay.Health().Frozen == 1 })
			records := f.series("wsOutbox", "TaskCompleted", account, 1, 3)
			f.append(records, 3)
			f.held(records)
			f.leftBy(nil, nil, freezeGoes(account))
			if got, want := f.delivered(records), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
		})
	}
}

// Of a release that its instance left half done some records are pending again,
// the youngest for instance, and others held. The freezer puts them back, and
// their order is kept.
func TestReleaseLeftHalfDoneIsFinishedInOrder(t *testing.T) {
	f := setup(t, newCloud(t))
	r := f.sweeping()
	f.frozenElsewhere(r, account)
	roles, tasks := f.series("accOutbox", "RoleChanged", account, 1, 9), f.series("wsOutbox", "TaskCompleted", account, 1, 9)
	f.leftBy(slices.Concat(roles, tasks), map[string]any{"status": "held"})
	writes := []dlq.Write{freezeGoes(account)}
	for _, record := range slices.Concat(roles[4:], tasks[7:]) {
		writes = append(writes, dlq.Write{Collection: record.Outbox, ID: record.ID, Op: dlq.OpUpdate, Fields: map[string]any{"status": "pending"}})
	}
	retrying := roles[2]
	writes = append(writes, dlq.Write{Collection: retrying.Outbox, ID: retrying.ID, Op: dlq.OpUpdate, Fields: map[string]any{
		"status": "retrying", "attempts": 1, "nextAttemptAt": time.Now().Add(-time.Minute),
	}})
	f.leftBy(nil, nil, writes...)
	if got, want := f.delivered(slices.Concat(roles, tasks)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("the freeze is gone", f.freezeGone)
	f.eventually("nothing is left behind", func() bool {
		return r.inMemory() == 0 && r.relay.Health().Frozen == 0 && r.outbox("accOutbox").LeftBehind+r.outbox("wsOutbox").LeftBehind == 0
	})
}

// An instance that is gone buried a record under SECURITY_BLOCK, and nothing
// followed that commit: this one alerts, holds what is younger, and lets it go
// when somebody releases the aggregate.
func TestFreezeOfAnInstanceThatIsGoneHolds(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(1000, time.Hour) // the wait is drawn from it
	f.script(func(_ context.Context, _ string, r *contracts.Record) error {
		if r.AggregateID == account && r.Attempts == 0 && r.AggregateVersion == 2 {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	r := f.sweeping()
	younger := f.series("accOutbox", "RoleChanged", account, 2, 5)
	f.append(younger, 4)
	f.eventually("they wait in memory", func() bool { return f.fields(younger[0].Path())["status"] == "retrying" })
	record := f.record("accOutbox", "RoleChanged", account, 1)
	fields := record.ProducerFields()
	fields[contracts.FieldCreatedAt] = time.Now().Add(-time.Minute)
	letter := &dlq.Item{
		ID: dlq.ID(record.IdempotencyKey), Tier: contracts.SecurityBlock, OriginalTier: contracts.SecurityBlock, State: contracts.DeadBlocked,
		Reason: contracts.AttemptsExhausted, Outbox: record.Outbox, RecordPath: record.Path(), Record: fields, EventID: record.EventID,
		EventType: record.EventType, TraceID: record.TraceID, IdempotencyKey: record.IdempotencyKey, AggregateID: account, AggregateVersion: 1,
		Lane: record.Lane, PendingTargets: []string{"CLAIMS_HANDLER"}, Attempts: 3, DeadAt: time.Now(),
	}
	f.leftBy([]*contracts.Record{record}, map[string]any{"status": "dead"}, letter.Burial(false)...)
	f.held(younger)
	f.eventually("the alert is published", func() bool {
		docs, err := f.db.Collection(contracts.CollectionErrorLog).Documents(f.ctx).GetAll()
		return err == nil && len(docs) == 1 && docs[0].Data()["publishedAt"] != nil
	})
	f.leftBy(nil, nil, freezeGoes(account))
	if got, want := f.delivered(younger), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
	if n := f.messages(record.EventID); n > 0 {
		t.Errorf("%d messages of the dead record, want none", n)
	}
}

// A replay that was asked for on an instance that is gone, or was under way there,
// is carried out for every tier, in its lane, to the targets still missing.
func TestReplayLeftUnderWayIsCarriedOut(t *testing.T) {
	f := setup(t, newCloud(t))
	f.sweeping()
	var letters []*contracts.Record
	for i, kind := range []struct {
		outbox, event string
		state         contracts.DeadState
		missing       []string
	}{
		{"wsOutbox", "TaskCompleted", contracts.DeadScheduled, []string{"FUNNEL"}},
		{"schedOutbox", "ScheduleAssigned", contracts.DeadAwaitingReview, []string{"FUNNEL"}}, // NOTIF_ROUTER has it
		{"accOutbox", "RoleChanged", contracts.DeadAuthorized, []string{"CLAIMS_HANDLER"}},
	} {
		record := f.record(kind.outbox, kind.event, fmt.Sprint("under-way-", i), 1)
		fields := record.ProducerFields()
		fields[contracts.FieldCreatedAt] = time.Now().Add(-time.Hour)
		tier := f.catalog.Outbox(kind.outbox).Route(kind.event).Tier
		letter := &dlq.Item{
			ID: dlq.ID(record.IdempotencyKey), Tier: tier, OriginalTier: tier, State: kind.state, Reason: contracts.AttemptsExhausted,
			Outbox: record.Outbox, RecordPath: record.Path(), Record: fields, EventID: record.EventID, EventType: record.EventType,
			TraceID: record.TraceID, IdempotencyKey: record.IdempotencyKey, AggregateID: record.AggregateID, AggregateVersion: 1, Lane: record.Lane,
			PendingTargets: kind.missing, Attempts: 3, DeadAt: time.Now().Add(-time.Hour), NextReplayAt: time.Now().Add(-time.Minute),
			Replaying: &dlq.Request{ID: "request-" + record.EventID, By: guard2.Name, At: time.Now().Add(-time.Minute), Reason: "mended"},
		}
		f.leftBy([]*contracts.Record{record}, map[string]any{"status": "dead"}, letter.Burial(false)[0])
		letters = append(letters, record)
	}
	f.eventually("all are delivered", func() bool { return f.unmarked(letters, contracts.Delivered) == 0 })
	f.eventually("their messages arrive", func() bool { return len(f.inbox.all()) >= len(letters) })
	for _, record := range letters {
		item := f.item(record)
		if item.State != contracts.DeadReplayed || item.Replaying != nil || item.LastReplay.By != guard2.Name || f.messages(record.EventID) != 1 {
			t.Errorf("%s is %s, replayed by %s with %d messages", record.EventType, item.State, item.LastReplay.By, f.messages(record.EventID))
		}
	}
}
