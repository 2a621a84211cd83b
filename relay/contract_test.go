package relay_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
)

// violation is one way to break the contract of a record.
type violation struct {
	name   string
	event  string // of schedOutbox; "": CompensatingScheduleCancelled, which is SAFE_AUTO
	breaks map[string]any
	faults []string // each named in the dead letter
	tier   contracts.Tier
}

// absent in violation.breaks removes the field.
type absent struct{}

func violations() []violation {
	out := []violation{
		{name: "unknown lane", breaks: map[string]any{"lane": "FAST_LANE"}, faults: []string{"lane"}},
		{name: "lane null", breaks: map[string]any{"lane": nil}, faults: []string{"lane"}},
		{name: "unknown tier", breaks: map[string]any{"dlqTier": "WHATEVER"}, faults: []string{"dlqTier"}},
		{name: "undeclared event type", breaks: map[string]any{"eventType": "NobodyKnows"}, faults: []string{"eventType"}},
		{name: "schema refusal", event: "ScheduleAssigned", breaks: map[string]any{"payload": map[string]any{"scheduleId": 7}}, faults: []string{"payload"}},
		{name: "event ID that is no UUID", breaks: map[string]any{"eventId": "1234"}, faults: []string{"eventId"}},
		{name: "wrong idempotency key", breaks: map[string]any{"idempotencyKey": "something:else:1"}, faults: []string{"idempotencyKey"}},
		{name: "odd status", breaks: map[string]any{"status": "PENDING"}, faults: []string{"status"}},
		{name: "null status", breaks: map[string]any{"status": nil}, faults: []string{"status"}},
		{name: "createdAt null", breaks: map[string]any{"createdAt": nil}, faults: []string{"createdAt"}},
		{name: "createdAt in words", breaks: map[string]any{"createdAt": "yesterday"}, faults: []string{"createdAt"}},
		{name: "version below one", breaks: map[string]any{"eventVersion": 0}, faults: []string{"eventVersion"}},
		{name: "several at once", breaks: map[string]any{"traceId": absent{}, "payload": "text", "occurredAt": true}, faults: []string{"traceId", "payload", "occurredAt"}},
		{name: "own tier stricter, event type undeclared", breaks: map[string]any{"eventType": "NobodyKnows", "dlqTier": "SECURITY_BLOCK"}, faults: []string{"eventType"}, tier: contracts.SecurityBlock},
	}
	for _, field := range []string{
		"eventId", "eventType", "aggregateId", "aggregateVersion", "idempotencyKey", "traceId", "lane", "dlqTier", "occurredAt", "createdAt", "payload", "status",
	} {
		out = append(out,
			violation{name: "no " + field, breaks: map[string]any{field: absent{}}, faults: []string{field}},
			violation{name: "mistyped " + field, breaks: map[string]any{field: 3.5}, faults: []string{field}},
		)
	}
	return append(out, manyFaults(90))
}

// manyFaults is a payload with so many faults, more than a dead letter has errors.
func manyFaults(n int) violation {
	v := violation{name: "many at once"}
	payload := make(map[string]any)
	for i := range n {
		field := fmt.Sprintf("reading%02d", i)
		payload[field] = math.NaN()
		v.faults = append(v.faults, "payload."+field+" is not")
	}
	v.breaks = map[string]any{"payload": payload}
	return v
}

func TestContractViolationsAreDeadLettered(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval = 200 * time.Millisecond
	r := f.run()
	neighbours := f.series("schedOutbox", "ScheduleProposed", "neighbour", 1, 40)
	f.append(neighbours[:20], 20)
	paths := make(map[string]string)
	for _, v := range violations() {
		event := v.event
		if event == "" {
			event = "CompensatingScheduleCancelled"
		}
		record := f.record("schedOutbox", event, "broken-"+strings.ReplaceAll(v.name, " ", "-"), 1)
		fields := record.ProducerFields()
		fields["createdAt"] = firestore.ServerTimestamp
		maps.Copy(fields, v.breaks)
		maps.DeleteFunc(fields, func(_ string, value any) bool { return value == absent{} })
		if _, err := f.db.Doc(record.Path()).Create(f.ctx, fields); err != nil {
			t.Fatal(err)
		}
		paths[v.name] = record.Path()
	}
	f.append(neighbours[20:], 20)
	if got, want := f.delivered(neighbours), (judgement{}); got != want {
		t.Errorf("neighbours: got %+v, want every record once and in order", got)
	}
	letters := func() map[string]map[string]any {
		docs, err := f.db.Collection(contracts.CollectionDeadLetters).Documents(f.ctx).GetAll()
		if err != nil {
			t.Fatal(err)
		}
		out := make(map[string]map[string]any)
		for _, d := range docs {
			out[d.Data()["recordPath"].(string)] = d.Data()
		}
		return out
	}
	f.eventually("every one is in the dead-letter queue", func() bool { return len(letters()) == len(paths) && r.inMemory() == 0 })
	all := letters()
	for _, v := range violations() {
		t.Run(v.name, func(t *testing.T) {
			letter, record := all[paths[v.name]], f.fields(paths[v.name])
			tier := v.tier
			if tier == "" {
				tier = contracts.ReviewRequired
			}
			if letter["reason"] != "CONTRACT_VIOLATION" || letter["tier"] != string(tier) || letter["state"] != string(tier.FirstState()) {
				t.Errorf("got reason %v, tier %v, state %v; want CONTRACT_VIOLATION, %s, %s", letter["reason"], letter["tier"], letter["state"], tier, tier.FirstState())
			}
			if record["status"] != "dead" || letter["attempts"] != int64(0) {
				t.Errorf("got status %v after %v attempts, want dead after none", record["status"], letter["attempts"])
			}
			var named []string
			for _, e := range letter["errors"].([]any) {
				named = append(named, e.(map[string]any)["message"].(string))
			}
			for _, field := range v.faults {
				if !strings.Contains(strings.Join(named, "\n"), field) {
					t.Errorf("fault of %s is not named in %q", field, named)
				}
			}
		})
	}
	for _, m := range f.inbox.all() {
		if strings.HasPrefix(m.attributes["aggregateId"], "broken") {
			t.Errorf("a record that breaks the contract was delivered: %v", m.attributes)
		}
	}
}

// A record that cannot be delivered does not wait for a target that is down.
func TestContractViolationsDoNotWaitForATarget(t *testing.T) {
	f := setup(t, newCloud(t))
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" {
			return failure(contracts.Outage, "Unavailable")
		}
		return nil
	})
	r := f.run()
	var waiting []*contracts.Record
	for _, a := range []string{"a", "b", "c", "d", "e", "f"} {
		waiting = append(waiting, f.record("schedOutbox", "CompensatingScheduleCancelled", a, 1))
	}
	f.append(waiting, 6)
	f.eventually("the breaker is open and all but the probe are left behind", func() bool {
		return f.breakerOpen(r, "FUNNEL") && r.inMemory() <= 1
	})
	broken := f.record("schedOutbox", "CompensatingScheduleCancelled", "a", 2)
	broken.TraceID = ""
	f.append([]*contracts.Record{broken}, 1)
	f.eventually("it is dead", func() bool { return f.fields(broken.Path())["status"] == "dead" })
}

func TestCatalogWinsOverARecordsLane(t *testing.T) {
	f := setup(t, newCloud(t))
	r := f.run()
	record := f.record("orgOutbox", "MemberJoined", "org", 1)
	record.Lane, record.Tier = contracts.CriticalLane, contracts.SecurityBlock
	f.append([]*contracts.Record{record}, 1)
	if got, want := f.delivered([]*contracts.Record{record}), (judgement{}); got != want {
		t.Errorf("got %+v, want it delivered", got)
	}
	if lane := f.inbox.all()[0].attributes["lane"]; lane != string(contracts.StandardLane) {
		t.Errorf("it ran in %s, want the catalog's %s", lane, contracts.StandardLane)
	}
	for _, field := range contracts.Disagreements() {
		if n := r.metric("relay_catalog_disagreements_total", "outbox", "orgOutbox", "field", field); n != 1 {
			t.Errorf("%v disagreements on %s were counted, want 1", n, field)
		}
	}
}
