package consumers_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	"outboxrelay/dlq/consumers"
	dlqfirestore "outboxrelay/dlq/firestore"
)

type fixture struct {
	t       *testing.T
	catalog *contracts.Catalog
	store   *dlqfirestore.Store
	queue   *dlq.Queue
	letters *consumers.Letters
	made    uint64
}

func setup(t *testing.T) *fixture {
	t.Helper()
	_, address := firestoretest.Start(t, firestore.Options{})
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, catalog: catalog, store: dlqfirestore.New(firestoretest.Client(t, address))}
	f.letters = consumers.New(f.store, catalog)
	if f.queue, err = dlq.New(dlq.Config{Store: f.store, Catalog: catalog}); err != nil {
		t.Fatal(err)
	}
	return f
}

// letter is what consumer could not handle of an event, as its inbox tells it.
func (f *fixture) letter(consumer, outbox, eventType, aggregate string, version int64) inbox.DeadLetter {
	f.t.Helper()
	o := f.catalog.Outbox(outbox)
	f.made++
	random := rand.New(rand.NewPCG(1, f.made))
	rec := f.catalog.Sample(random, o, aggregate, version, time.Now())
	for rec.EventType != eventType {
		rec = f.catalog.Sample(random, o, aggregate, version, time.Now())
	}
	data, err := contracts.MarshalEnvelope(rec)
	if err != nil {
		f.t.Fatal(err)
	}
	target := o.Route(eventType).Targets[0]
	attributes := contracts.NewMessage(rec, data, rec.Lane, target, "").Attributes
	arrived, faults, err := contracts.DecodeEnvelope(data, attributes)
	if err != nil || len(faults) > 0 {
		f.t.Fatal(err, faults)
	}
	return inbox.DeadLetter{
		Consumer: consumer, Reason: contracts.AttemptsExhausted, Record: arrived, Envelope: data, Target: target, Attempts: 2,
		Errors: []contracts.AttemptError{failed(consumer, 1), failed(consumer, 2)},
	}
}

func failed(consumer string, attempt int) contracts.AttemptError {
	at := time.Date(2026, 11, 23, 12, attempt, 0, 0, time.UTC)
	return contracts.AttemptError{At: at, Attempt: attempt, Target: consumer, Code: "Broken", Message: "no such account"}
}

func (f *fixture) bury(d inbox.DeadLetter) *dlq.Item {
	f.t.Helper()
	if err := f.letters.Bury(f.t.Context(), d); err != nil {
		f.t.Fatal(err)
	}
	return f.item(d)
}

func (f *fixture) item(d inbox.DeadLetter) *dlq.Item {
	f.t.Helper()
	item, err := f.queue.Item(f.t.Context(), dlq.ID(d.Record.IdempotencyKey+"@"+d.Consumer))
	if err != nil {
		f.t.Fatal(err)
	}
	return item
}

func TestADeadLetterOfAConsumerIsFound(t *testing.T) {
	f := setup(t)
	d := f.letter("notifications", "schedOutbox", "ScheduleAssigned", "schedule-1", 3)
	other := f.letter("analytics", "schedOutbox", "ScheduleAssigned", "schedule-1", 3)
	item := f.bury(d)
	f.bury(other)
	same := d // another consumer of the same event has one of its own
	same.Consumer = "analytics"
	f.bury(same)
	if item.Consumer != "notifications" || item.State != contracts.DeadAwaitingReview || item.Tier != contracts.ReviewRequired || item.Outbox != "schedOutbox" ||
		item.RecordPath != d.Record.Path() || item.AggregateID != "schedule-1" || item.AggregateVersion != 3 || item.Attempts != 2 ||
		!cmp.Equal(item.PendingTargets, []string{d.Target}) || item.Group == "" {
		t.Errorf("got %+v", item)
	}
	if diff := cmp.Diff(d.Errors, item.Errors); diff != "" {
		t.Error(diff)
	}
	if item.Record[dlq.RecordFieldEnvelope] != string(d.Envelope) {
		t.Errorf("the envelope is %v, want it whole", item.Record[dlq.RecordFieldEnvelope])
	}
	again, faults := contracts.DecodeRecord(item.Outbox, d.Record.ID, item.Record)
	checked := f.catalog.Check(again, faults)
	if checked.Faults != nil {
		t.Fatalf("a replay would find %v", checked.Faults)
	}
	var was, is any
	if err := json.Unmarshal(d.Envelope, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(checked.Data, &is); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Error("a replay would send another envelope:", diff)
	}
	page, err := f.queue.List(t.Context(), dlq.Filter{Consumer: "analytics"}, dlq.Page{})
	if err != nil || len(page.Items) == 0 {
		t.Fatalf("of analytics there are %v, %v", page.Items, err)
	}
	for _, i := range page.Items {
		if i.Consumer != "analytics" {
			t.Errorf("of analytics there is one of %s", i.Consumer)
		}
	}
	for name, filter := range map[string]dlq.Filter{
		"event ID": {EventID: d.Record.EventID}, "name": {EventType: "ScheduleAssigned"}, "trace": {TraceID: d.Record.TraceID},
	} {
		page, err := f.queue.List(t.Context(), filter, dlq.Page{})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, i := range page.Items {
			found[i.ID] = i.Consumer != ""
		}
		if !found[item.ID] || !found[dlq.ID(d.Record.IdempotencyKey+"@analytics")] {
			t.Errorf("by %s: found %v", name, found)
		}
	}
}

func TestBuryingTheSameAgainIsANoOp(t *testing.T) {
	f := setup(t)
	d := f.letter("notifications", "schedOutbox", "ScheduleAssigned", "schedule-1", 1)
	before := f.bury(d)
	d.Attempts = 9
	if after := f.bury(d); !after.UpdateTime.Equal(before.UpdateTime) {
		t.Errorf("it was changed: %+v", after)
	}
}

// A catalog may make a key that events have in common.
func TestEventsWithTheSameKeyHaveDeadLettersOfTheirOwn(t *testing.T) {
	f := setup(t)
	for n := range 4 {
		d := f.letter("notifications", "schedOutbox", "ScheduleAssigned", "schedule-1", int64(n+1))
		d.Record.IdempotencyKey = "2026-11-27:user-1"
		if n >= 2 {
			d.Record.EventID = "" // which breaks the contract
		}
		for range 2 { // again is a no-op
			if err := f.letters.Bury(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
	}
	page, err := f.queue.List(t.Context(), dlq.Filter{Consumer: "notifications"}, dlq.Page{})
	if err != nil || len(page.Items) != 4 {
		t.Errorf("of four events there are %d dead letters and %v", len(page.Items), err)
	}
}

func TestADeadLetterWhoseReplayFailedIsOpenAgain(t *testing.T) {
	f := setup(t)
	d := f.letter("notifications", "schedOutbox", "ScheduleAssigned", "schedule-1", 1)
	item := f.bury(d)
	operator := dlq.Actor{Name: "otto@example.com", Role: dlq.Operator}
	decided, err := f.queue.Decide(t.Context(), item.ID, dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "it is mended"})
	if err != nil {
		t.Fatal(err)
	}
	record := dlq.Write{Collection: item.Outbox, ID: d.Record.ID, Op: dlq.OpSet, Fields: map[string]any{"status": "delivered", "idempotencyKey": item.IdempotencyKey}}
	if _, err := f.store.Commit(t.Context(), []dlq.Write{record}); err != nil {
		t.Fatal(err)
	}
	ended, err := f.queue.End(t.Context(), decided.Item, dlq.Result{Acked: item.PendingTargets, Missing: item.PendingTargets})
	if err != nil || ended.State != contracts.DeadReplayed {
		t.Fatal(ended, err)
	}
	docs, err := f.store.Get(t.Context(), item.Outbox, d.Record.ID)
	if err != nil || docs[0].Fields["deliveredAt"] != nil {
		t.Errorf("the record, which was delivered before, was changed: %v %v", docs, err)
	}
	f.bury(d) // late, once more
	if i := f.item(d); i.State != contracts.DeadReplayed {
		t.Errorf("the same death opened it again: %s", i.State)
	}
	d.Errors = []contracts.AttemptError{failed("notifications", 3)}
	d.Attempts = 1
	again := f.bury(d)
	if again.State != contracts.DeadAwaitingReview || again.Replays != 1 || len(again.Errors) != 3 || again.Attempts != 3 || again.LastReplay == nil ||
		len(again.Decisions) != 1 || again.Replaying != nil || !again.NextReplayAt.IsZero() {
		t.Errorf("got %+v", again)
	}
	docs, err = f.store.Get(t.Context(), contracts.CollectionDeadLetters, item.ID)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := docs[0].Fields[contracts.DeadFieldNextReplayAt]; !ok || at != nil {
		t.Errorf("no query for those without a time finds it: %v, %v", at, ok)
	}
	if page, err := f.queue.List(t.Context(), dlq.Filter{Open: new(true)}, dlq.Page{}); err != nil || len(page.Items) != 1 {
		t.Errorf("%d are open and %v, want it", len(page.Items), err)
	}
}

// A replay under way, of which the queue has not heard the end, does not hide that its consumer
// could not handle it either.
func TestADeathDuringTheReplay(t *testing.T) {
	f := setup(t)
	d := f.letter("notifications", "schedOutbox", "ScheduleAssigned", "schedule-1", 1)
	item := f.bury(d)
	operator := dlq.Actor{Name: "otto@example.com", Role: dlq.Operator}
	decided, err := f.queue.Decide(t.Context(), item.ID, dlq.Decide{Action: dlq.Replay, Actor: operator, Reason: "it is mended"})
	if err != nil {
		t.Fatal(err)
	}
	d.Errors = []contracts.AttemptError{failed("notifications", 3)}
	f.bury(d)
	if _, err := f.queue.End(t.Context(), decided.Item, dlq.Result{Acked: item.PendingTargets}); dlq.AsRefusal(err) == nil {
		t.Errorf("got %v, want the end refused", err)
	}
	if i := f.item(d); i.State != contracts.DeadAwaitingReview || i.Replaying != nil {
		t.Errorf("it is %s, replaying %v; want it to wait for an operator", i.State, i.Replaying)
	}
}

func TestSecurityBlockIsCoveredAndFreezesNothing(t *testing.T) {
	f := setup(t)
	d := f.letter("claims-mirror", "accOutbox", "RoleChanged", "acc-1", 1)
	item := f.bury(d)
	if item.Tier != contracts.SecurityBlock || item.State != contracts.DeadBlocked || !item.Covered() {
		t.Errorf("got %s, %s", item.Tier, item.State)
	}
	for _, collection := range []string{contracts.CollectionFrozen, contracts.CollectionErrorLog} {
		if docs, err := f.store.Query(t.Context(), dlq.Query{Collection: collection, Limit: 5}); err != nil || len(docs) != 0 {
			t.Errorf("%s has %v and %v, want nothing", collection, docs, err)
		}
	}
}

func TestSafeAutoWaitsForAnOperator(t *testing.T) {
	f := setup(t)
	item := f.bury(f.letter("analytics", "skillOutbox", "SkillXpAdded", "skill-1", 1))
	if item.Tier != contracts.ReviewRequired || !item.NextReplayAt.IsZero() {
		t.Errorf("it is %s, replayed at %v; want it to wait for an operator", item.Tier, item.NextReplayAt)
	}
}

// A consumer's dead letter stands in the way of that consumer's alone.
func TestOrderIsThatOfTheConsumer(t *testing.T) {
	f := setup(t)
	var items []*dlq.Item
	for n, consumer := range []string{"a", "a", "a", "a", "a", "a", "b"} {
		items = append(items, f.bury(f.letter(consumer, "schedOutbox", "ScheduleAssigned", "schedule-1", int64(n+1))))
	}
	mine := f.bury(f.letter("b", "schedOutbox", "ScheduleAssigned", "schedule-1", 20))
	relays := *mine
	relays.Consumer = ""
	for _, test := range []struct {
		name string
		item *dlq.Item
		want string
	}{{"of the same consumer", mine, items[6].ID}, {"the relay's", &relays, ""}, {"of another", items[1], items[0].ID}} {
		got, err := f.queue.Before(t.Context(), test.item)
		id := ""
		if got != nil {
			id = got.ID
		}
		if err != nil || id != test.want {
			t.Errorf("%s: %q and %v comes first, want %q", test.name, id, err, test.want)
		}
	}
}

func TestWhatCouldNotBeReadIsKept(t *testing.T) {
	f := setup(t)
	d := inbox.DeadLetter{
		Consumer: "notifications", Reason: contracts.ContractViolation, Envelope: []byte("no JSON \xff"), Attempts: 1, Errors: []contracts.AttemptError{failed("notifications", 1)},
		Record: &contracts.Record{EventID: "e-1", EventType: "Odd", TraceID: "t-1", IdempotencyKey: "unread:1", Fields: map[string]any{}},
	}
	item := f.bury(d)
	if item.Record[dlq.RecordFieldEnvelope] != "no JSON ?" || item.EventID != "e-1" || !item.Versionless {
		t.Errorf("got %+v", item)
	}
}

func TestWhatIsTooLargeIsTrimmed(t *testing.T) {
	f := setup(t)
	d := f.letter("notifications", "wsOutbox", "TaskCompleted", "ws-1", 1)
	d.Record.Fields["payload"] = map[string]any{"text": strings.Repeat("x", 700_000)}
	d.Envelope = []byte(strings.Repeat("y", 399_000))
	item := f.bury(d)
	if !item.RecordTrimmed || item.Record["payload"] != nil || item.Record["eventId"] != d.Record.EventID {
		t.Errorf("trimmed is %v", item.RecordTrimmed)
	}
}
