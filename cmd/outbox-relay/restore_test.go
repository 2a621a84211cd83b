package main

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// archive is a cloud with what an export can bring back in it.
type archive struct {
	t       *testing.T
	cloud   *embedded
	docs    *dlqfirestore.Client
	catalog *contracts.Catalog
	file    string
	at      time.Time // of the export
	before  map[string]*contracts.Record
}

// openArchive makes records of every status, of before and after the export. The
// records of tagOutbox are deleted when they are delivered.
func openArchive(t *testing.T) *archive {
	t.Helper()
	a := &archive{t: t, cloud: startCloud(t), at: time.Now(), before: make(map[string]*contracts.Record)}
	a.file, a.catalog = variant(t, "  - name: tagOutbox\n", "  - name: tagOutbox\n    onDelivered: delete\n")
	a.docs = mustDialFirestore(t, a.cloud.at)
	for _, r := range []struct {
		name, outbox, eventType string
		fields                  map[string]any
	}{
		{"pending", "accOutbox", "AccountCreated", nil},
		{"retrying", "accOutbox", "AccountCreated", map[string]any{
			contracts.FieldStatus: "retrying", contracts.FieldAttempts: 1, contracts.FieldNextAttemptAt: a.at,
		}},
		{"held", "accOutbox", "WalletDeducted", map[string]any{contracts.FieldStatus: "held"}},
		{"delivered", "accOutbox", "AccountCreated", map[string]any{contracts.FieldStatus: "delivered"}},
		{"newer", "accOutbox", "AccountCreated", map[string]any{contracts.FieldCreatedAt: a.at.Add(time.Minute)}},
		{"faulty", "accOutbox", "AccountCreated", map[string]any{contracts.FieldTraceID: nil}},
		{"deleted", "tagOutbox", "TagLifecycleEvent", nil},
		{"secret", "accOutbox", "RoleChanged", nil},
		{"other", "wsOutbox", "TaskCompleted", nil},
		{"died since", "skillOutbox", "SkillXpAdded", nil},
	} {
		a.before[r.name] = a.put(r.outbox, r.eventType, strings.ReplaceAll(r.name, " ", "-"), r.fields)
	}
	a.set(contracts.CollectionDeadLetters, dlq.ID(a.before["died since"].IdempotencyKey), a.letter(a.before["died since"]).Fields())
	a.set("accOutbox", "!relay-canary.STANDARD_LANE", map[string]any{"status": "pending", "lane": "STANDARD_LANE", "createdAt": time.Unix(0, 0), "canary": "a nonce"})
	return a
}

// put writes a record that was appended a minute before the export.
func (a *archive) put(outbox, eventType, aggregate string, fields map[string]any) *contracts.Record {
	a.t.Helper()
	spec := *a.catalog.Outbox(outbox)
	spec.Events = []*contracts.EventRoute{{Type: eventType, Lane: spec.Route(eventType).Lane, Tier: spec.Route(eventType).Tier, Targets: spec.Route(eventType).Targets}}
	rec := a.catalog.Sample(rand.New(rand.NewPCG(rand.Uint64(), 0)), &spec, aggregate, 1, time.Now())
	doc := rec.ProducerFields()
	doc[contracts.FieldCreatedAt] = a.at.Add(-time.Minute)
	maps.Copy(doc, fields)
	a.set(outbox, rec.ID, doc)
	return rec
}

func (a *archive) set(collection, id string, fields map[string]any) {
	a.t.Helper()
	if _, err := a.docs.Collection(collection).Doc(id).Set(a.t.Context(), fields); err != nil {
		a.t.Fatal(err)
	}
}

// letter is a dead letter that is replayed by itself in an hour.
func (a *archive) letter(rec *contracts.Record) *dlq.Item {
	return &dlq.Item{
		ID: dlq.ID(rec.IdempotencyKey), Tier: contracts.SafeAuto, OriginalTier: contracts.SafeAuto, State: contracts.DeadScheduled,
		Reason: contracts.AttemptsExhausted, Outbox: rec.Outbox, RecordPath: rec.Path(), Record: rec.ProducerFields(),
		EventID: rec.EventID, EventType: rec.EventType, TraceID: rec.TraceID, IdempotencyKey: rec.IdempotencyKey, AggregateID: rec.AggregateID,
		AggregateVersion: rec.AggregateVersion, Lane: rec.Lane, DeadAt: a.at, NextReplayAt: a.at.Add(time.Hour), PendingTargets: []string{"FUNNEL_CRITICAL"},
	}
}

// restore runs the command.
func (a *archive) restore(args ...string) result {
	a.t.Helper()
	env := map[string]string{"CATALOG": a.file, "STAND_IN": "CLAIMS_HANDLER=ier-claims-handler"}
	maps.Copy(env, a.cloud.env)
	return runProgram(a.t, env, "", append([]string{"restore", "--before", a.at.Format(time.RFC3339Nano)}, args...)...)
}

// decided is restore as somebody who may.
func (a *archive) decided(args ...string) {
	a.t.Helper()
	if got := a.restore(append(args, "--by", "alice@example.com", "--reason", "lost", "--yes")...); got.code != shell.ExitOK {
		a.t.Fatalf("%+v", got)
	}
}

// statuses are those of the records, by name; "" for one that is gone.
func (a *archive) statuses() map[string]string {
	out := make(map[string]string)
	for name, rec := range a.before {
		snap, err := a.docs.Collection(rec.Outbox).Doc(rec.ID).Get(a.t.Context())
		if err != nil {
			out[name] = ""
			continue
		}
		out[name], _ = snap.Data()[contracts.FieldStatus].(string)
	}
	return out
}

func (a *archive) queue() *dlq.Queue {
	a.t.Helper()
	q, err := dlq.New(dlq.Config{Store: dlqfirestore.New(a.docs), Catalog: a.catalog})
	if err != nil {
		a.t.Fatal(err)
	}
	return q
}

func TestRestoreSettlesAsDelivered(t *testing.T) {
	a := openArchive(t)
	a.decided("--as", "delivered")
	want := map[string]string{
		"pending": "delivered", "retrying": "delivered", "held": "delivered", "delivered": "delivered", "newer": "pending", "faulty": "pending",
		"deleted": "", "secret": "delivered", "other": "delivered", "died since": "delivered",
	}
	if diff := cmp.Diff(want, a.statuses()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	item, err := a.queue().Item(t.Context(), dlq.ID(a.before["died since"].IdempotencyKey))
	if err != nil {
		t.Fatal(err)
	}
	if item.Tier != contracts.ReviewRequired || item.State != contracts.DeadAwaitingReview || !item.NextReplayAt.IsZero() || len(item.Decisions) != 1 {
		t.Errorf("the dead letter that would have been replayed stands as %+v", item)
	}
	audit, err := a.queue().Audit(t.Context(), dlq.AuditFilter{Actor: "alice@example.com"}, dlq.Page{})
	if err != nil {
		t.Fatal(err)
	}
	on := make(map[string]int)
	for _, e := range audit.Items {
		on[e.Action+" "+string(e.Subject)]++
	}
	if want := map[string]int{"restore outbox": 6, "shelve dead_letter": 1}; !cmp.Equal(want, on) { // pending, retrying and held of accOutbox, and three outboxes
		t.Errorf("the audit has %v, want %v", on, want)
	}
}

func TestRestoreSettlesForReview(t *testing.T) {
	a := openArchive(t)
	a.decided("--as", "review")
	want := map[string]string{
		"pending": "dead", "retrying": "dead", "held": "dead", "delivered": "delivered", "newer": "pending", "faulty": "pending",
		"deleted": "dead", "secret": "dead", "other": "dead", "died since": "dead",
	}
	if diff := cmp.Diff(want, a.statuses()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	for name, tier := range map[string]contracts.Tier{"pending": contracts.ReviewRequired, "held": contracts.ReviewRequired, "secret": contracts.SecurityBlock} {
		item, err := a.queue().Item(t.Context(), dlq.ID(a.before[name].IdempotencyKey))
		if err != nil {
			t.Fatal(err)
		}
		if item.Tier != tier || item.Reason != contracts.Restored || item.State != tier.FirstState() || len(item.PendingTargets) == 0 || len(item.Record) == 0 {
			t.Errorf("%s is a dead letter %+v, want tier %s", name, item, tier)
		}
	}
	if frozen, err := a.queue().FreezesOf(t.Context(), "secret"); err != nil || len(frozen) != 1 {
		t.Errorf("a SECURITY_BLOCK record freezes its aggregate: %v, %v", frozen, err)
	}
	again := a.restore("--as", "review", "--dry-run")
	if !strings.Contains(again.stdout, "0 records waiting in the export") {
		t.Errorf("a second run finds more: %s", again.stdout)
	}
}

func TestRestoreOfOneOutboxLeavesTheOthers(t *testing.T) {
	a := openArchive(t)
	was := a.statuses()
	if got := a.restore("--as", "delivered", "--dry-run"); got.code != shell.ExitOK || !strings.Contains(got.stdout, "to be settled as delivered") {
		t.Errorf("dry run: %+v", got)
	}
	if diff := cmp.Diff(was, a.statuses()); diff != "" {
		t.Errorf("a dry run changed (-was +is):\n%s", diff)
	}
	a.decided("--as", "delivered", "--outbox", "wsOutbox")
	was["other"] = "delivered"
	if diff := cmp.Diff(was, a.statuses()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// What is refused settles nothing. Beside a relay, a record could be delivered while
// it is settled as one that a person has yet to decide about.
func TestRestoreRefuses(t *testing.T) {
	a := openArchive(t)
	was := a.statuses()
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"nobody":         {[]string{"--as", "delivered", "--yes"}, shell.ExitUsage, "--by and --reason"},
		"no terminal":    {[]string{"--as", "delivered", "--by", "a", "--reason", "b"}, shell.ExitUsage, "nobody can be asked"},
		"no way":         {nil, shell.ExitUsage, "missing flags: --as"},
		"no time":        {[]string{"--as", "delivered", "--dry-run", "--before", "yesterday"}, shell.ExitUsage, `"yesterday" is no time in RFC 3339, such as 2026-`},
		"unknown":        {[]string{"--as", "delivered", "--dry-run", "--outbox", "nowhere"}, shell.ExitUsage, "no outbox nowhere"},
		"another way":    {[]string{"--as", "dead", "--dry-run"}, shell.ExitUsage, "must be one of"},
		"beside a relay": {[]string{"--as", "delivered", "--by", "a", "--reason", "b", "--yes"}, shell.ExitConflict, "the relay runs: relay-1"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.code == shell.ExitConflict {
				a.set(contracts.CollectionLeases, "instance.relay-1", map[string]any{"kind": "instance", "instance": "relay-1", "termMillis": 60_000})
			}
			if got := a.restore(c.args...); got.code != c.code || !strings.Contains(got.stderr, c.says) {
				t.Errorf("got %+v, want exit code %d and %q", got, c.code, c.says)
			}
			if diff := cmp.Diff(was, a.statuses()); diff != "" {
				t.Errorf("what was refused settled records (-was +is):\n%s", diff)
			}
		})
	}
}

// With another catalog the records of an outbox that it lacks were passed over, and none
// was said to wait.
func TestRestoreRefusesACatalogThatLacksAnOutbox(t *testing.T) {
	a := openArchive(t)
	for _, share := range []string{"queue", "accOutbox", "accOutbox.7"} { // it had eight shards once
		a.set(contracts.CollectionLeases, share, map[string]any{"kind": contracts.LeaseKind})
	}
	a.decided("--as", "delivered", "--dry-run")
	a.set(contracts.CollectionLeases, "payOutbox.2", map[string]any{"kind": contracts.LeaseKind})
	was := a.statuses()
	for _, more := range [][]string{{"--dry-run"}, {"--by", "a", "--reason", "b", "--yes"}} {
		got := a.restore(append([]string{"--as", "delivered"}, more...)...)
		if got.code != shell.ExitUsage || !strings.Contains(got.stderr, "outboxes that the catalog lacks: payOutbox. Give --catalog") {
			t.Errorf("%s: %+v", more, got)
		}
	}
	if diff := cmp.Diff(was, a.statuses()); diff != "" {
		t.Errorf("what was refused settled records (-was +is):\n%s", diff)
	}
	a.decided("--as", "delivered", "--outbox", "wsOutbox") // of an outbox that nobody relays any more the lease stays
}
