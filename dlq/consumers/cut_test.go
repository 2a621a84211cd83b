package consumers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	"outboxrelay/dlq"
	"outboxrelay/dlq/consumers"
)

var operator = dlq.Actor{Name: "otto@example.com", Role: dlq.Operator}

func (f *fixture) decide(id string, a dlq.Action, reason string) {
	f.t.Helper()
	if _, err := f.queue.Decide(f.t.Context(), id, dlq.Decide{Action: a, Actor: operator, Reason: reason}); err != nil {
		f.t.Fatalf("%s: %v", a, err)
	}
}

// pays gives the event of a dead letter a payload.
func pays(t *testing.T, d *inbox.DeadLetter, payload map[string]any) {
	t.Helper()
	d.Record.Payload, d.Record.Fields[contracts.FieldPayload] = payload, payload
	data, err := contracts.MarshalEnvelope(d.Record)
	if err != nil {
		t.Fatal(err)
	}
	d.Envelope = data
}

// changing has somebody change a dead letter just before each of the first commits.
type changing struct {
	dlq.Store
	change func()
	left   int
}

func (c *changing) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	if c.left > 0 {
		c.left--
		c.change()
	}
	return c.Store.Commit(ctx, writes)
}

// A dead letter that is opened again while others write to it keeps its event: the commit
// was refused because the letter had changed, not because it is too large.
func TestWhoMeetsOthersLosesNothingOfTheEvent(t *testing.T) {
	f := setup(t)
	d := f.letter("notifications", "wsOutbox", "TaskCompleted", "ws-1", 1)
	item := f.bury(d)
	f.decide(item.ID, dlq.Replay, "because")
	d.Errors = append(d.Errors, failed("notifications", 3)) // at the replay
	store := &changing{Store: f.store, change: func() { f.decide(item.ID, dlq.Note, "because") }, left: 4}
	if err := consumers.New(store, f.catalog).Bury(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	now := f.item(d)
	if now.RecordTrimmed || now.State != contracts.DeadAwaitingReview || len(now.Decisions) != 5 {
		t.Errorf("trimmed %t, %s, %d decisions, want it whole, open again, and all 5 of them", now.RecordTrimmed, now.State, len(now.Decisions))
	}
	if diff := cmp.Diff(item.Record, now.Record); diff != "" {
		t.Errorf("the event (-before +now):\n%s", diff)
	}
}

// What a document's shape forbids is kept as text: the event stands in the queue with its
// whole envelope, of which a replay is made when its record is gone.
func TestAPayloadOfAnOddShapeIsKeptInTheEnvelope(t *testing.T) {
	deep := any("leaf")
	for range 20 {
		deep = map[string]any{"a": deep}
	}
	for name, payload := range map[string]map[string]any{
		"nested as deep as an outbox takes it": deep.(map[string]any),
		"a name that Firestore reserves":       {"__typename__": "Task", "id": int64(7)},
		"an empty name":                        {"": "Task", "id": int64(7)},
		"and large":                            {"": strings.Repeat("x", 500_000)},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			d := f.letter("notifications", "wsOutbox", "TaskCompleted", "ws-1", 1)
			pays(t, &d, payload)
			item := f.bury(d)
			if item.Record[dlq.RecordFieldEnvelope] != string(d.Envelope) || !item.RecordTrimmed {
				t.Errorf("trimmed %t, and the envelope is not whole", item.RecordTrimmed)
			}
			whole, ok := item.Whole()
			if diff := cmp.Diff(payload, whole[contracts.FieldPayload]); !ok || diff != "" {
				t.Errorf("the payload of a replay (-was +is): %t\n%s", ok, diff)
			}
		})
	}
}

// A message that breaks the contract is a dead letter whatever it holds: one that could
// never be buried would come back for ever.
func TestWhateverAMessageHoldsItIsBuried(t *testing.T) {
	for _, field := range []string{"event_id", "event_name", "trace_id", "aggregate_id", "idempotency_key", "payload", "unknown"} {
		for name, size := range map[string]int{"600 kB": 600_000, "9 MB": 9_000_000} {
			t.Run(field+" of "+name, func(t *testing.T) {
				f := setup(t)
				d := f.letter("notifications", "wsOutbox", "TaskCompleted", "ws-1", 1)
				var body map[string]any
				if err := json.Unmarshal(d.Envelope, &body); err != nil {
					t.Fatal(err)
				}
				body[field] = strings.Repeat("x", size)
				data, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				rec, _, err := contracts.DecodeEnvelope(data, map[string]string{"outbox": "wsOutbox", "target": d.Target, "lane": string(d.Record.Lane)})
				if err != nil {
					t.Fatal(err)
				}
				d.Record, d.Envelope = rec, data
				if err := f.letters.Bury(t.Context(), d); err != nil {
					t.Fatalf("%.300s", err)
				}
				found, err := f.queue.List(t.Context(), dlq.Filter{}, dlq.Page{Limit: 2})
				if err != nil || len(found.Items) != 1 {
					t.Errorf("%d dead letters, %v, want one", len(found.Items), err)
				}
			})
		}
	}
}

// Whatever size its event has, a dead letter leaves room for what is decided about it.
func TestALargeDeadLetterCanBeDecidedAbout(t *testing.T) {
	f := setup(t)
	for n, size := range []int{850_000, 900_000, 921_000, 950_000, 1_000_000, 1_040_000, 1_046_500} {
		d := f.letter("notifications", "wsOutbox", "TaskCompleted", fmt.Sprint("ws-", n), 1)
		pays(t, &d, map[string]any{"text": strings.Repeat("x", size)})
		item := f.bury(d)
		for range 60 {
			f.decide(item.ID, dlq.Note, strings.Repeat("r", 900))
		}
		f.decide(item.ID, dlq.Replay, strings.Repeat("r", 900))
	}
}
