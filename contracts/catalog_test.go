package contracts

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// same compares catalogs: a schema by whether there is one, and lines apart.
var same = cmp.Options{
	cmpopts.IgnoreFields(Catalog{}, "Warnings", "SchemaFiles"),
	cmpopts.IgnoreFields(EventRoute{}, "Schema"),
}

func TestDefaultCatalogIsTheContract(t *testing.T) {
	event := func(typ string, lane Lane, tier Tier, targets ...string) *EventRoute {
		e := &EventRoute{Type: typ, Lane: lane, Tier: tier, Targets: targets, Version: 1}
		if strings.Contains(typ, "*") {
			e.Version = 0
		}
		switch typ {
		case "RoleChanged", "PolicyChanged", "WalletDeducted", "WalletCredited", "ScheduleAssigned":
			e.SchemaName = "schemas/" + typ + ".schema.json"
		}
		return e
	}
	audit := event("AuditEvent", BackgroundLane, SafeAuto, "AUDIT_COLLECTOR")
	outbox := func(name, slice string, events ...*EventRoute) *Outbox {
		return &Outbox{Name: name, Slice: slice, OnDelivered: MarkDelivered, Retention: 168 * time.Hour, Shards: 1, Events: events}
	}
	topic := func(name, topic string) TargetSpec { return TargetSpec{Name: name, Kind: KindPubSub, Topic: topic} }
	want := &Catalog{
		Lanes: map[Lane]LanePolicy{
			CriticalLane:   {SLA: 500 * time.Millisecond, Workers: 64, Run: 100, Window: 500, InFlight: 1000, InFlightMiB: 8, SettleLinger: 50 * time.Millisecond},
			StandardLane:   {SLA: 2 * time.Second, Workers: 64, Run: 100, Window: 500, InFlight: 1000, InFlightMiB: 8, SettleLinger: 100 * time.Millisecond},
			BackgroundLane: {SLA: 30 * time.Second, Workers: 16, Run: 200, Window: 500, InFlight: 1000, InFlightMiB: 8, SettleLinger: 200 * time.Millisecond},
		},
		Targets: map[string]TargetSpec{
			"FUNNEL":             topic("FUNNEL", "ier-funnel-standard"),
			"FUNNEL_CRITICAL":    topic("FUNNEL_CRITICAL", "ier-funnel-critical"),
			"ORG_CONTEXT_ACL":    topic("ORG_CONTEXT_ACL", "ier-org-context-acl"),
			"NOTIF_ROUTER":       topic("NOTIF_ROUTER", "ier-notif-router"),
			"ORG_SCHEDULE":       topic("ORG_SCHEDULE", "ier-org-schedule"),
			"VS4_TAG_SUBSCRIBER": topic("VS4_TAG_SUBSCRIBER", "ier-tag-subscriber"),
			"AUDIT_COLLECTOR":    topic("AUDIT_COLLECTOR", "ier-audit-collector"),
			"CLAIMS_HANDLER":     {Name: "CLAIMS_HANDLER", Kind: KindHandler, RatePerSecond: 500},
		},
		Retry:  RetryPolicy{MaxAttempts: 3, Initial: 500 * time.Millisecond, Max: 10 * time.Second, Multiplier: 4},
		Replay: ReplayPolicy{Delays: []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute}, RatePerSecond: 20},
		Outboxes: []*Outbox{
			outbox("tagOutbox", "VS0 centralized-tag",
				event("TagLifecycleEvent", BackgroundLane, SafeAuto, "FUNNEL", "VS4_TAG_SUBSCRIBER"), audit),
			outbox("accOutbox", "VS2 account",
				event("RoleChanged", CriticalLane, SecurityBlock, "CLAIMS_HANDLER"),
				event("PolicyChanged", CriticalLane, SecurityBlock, "CLAIMS_HANDLER"),
				event("WalletDeducted", CriticalLane, ReviewRequired, "FUNNEL_CRITICAL"),
				event("WalletCredited", CriticalLane, ReviewRequired, "FUNNEL_CRITICAL"),
				event("AccountCreated", StandardLane, SafeAuto, "FUNNEL"), audit),
			outbox("orgOutbox", "VS4 organization",
				event("OrgContextProvisioned", CriticalLane, ReviewRequired, "ORG_CONTEXT_ACL"),
				event("MemberJoined", StandardLane, SafeAuto, "FUNNEL"),
				event("MemberLeft", StandardLane, SafeAuto, "FUNNEL"),
				event("SkillRecognitionGranted", StandardLane, ReviewRequired, "FUNNEL"),
				event("SkillRecognitionRevoked", StandardLane, ReviewRequired, "FUNNEL"), audit),
			outbox("skillOutbox", "VS3 skill",
				event("SkillXpAdded", StandardLane, SafeAuto, "FUNNEL_CRITICAL"),
				event("SkillXpDeducted", StandardLane, SafeAuto, "FUNNEL_CRITICAL"), audit),
			outbox("wsOutbox", "VS5 workspace", audit, event("*", StandardLane, SafeAuto, "FUNNEL")),
			outbox("schedOutbox", "VS6 scheduling",
				event("ScheduleAssigned", StandardLane, ReviewRequired, "NOTIF_ROUTER", "FUNNEL"),
				event("ScheduleProposed", StandardLane, ReviewRequired, "ORG_SCHEDULE"),
				audit, event("Compensating*", StandardLane, SafeAuto, "FUNNEL")),
		},
	}
	got := defaultCatalog(t)
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Error(diff)
	}
	if len(got.Warnings) > 0 {
		t.Errorf("warnings: %q, want none: no target is fed from two lanes of one outbox", got.Warnings)
	}
	for _, o := range got.Outboxes {
		for _, e := range o.Events {
			if (e.SchemaName != "") != (e.Schema != nil) {
				t.Errorf("%s: schema name %q, schema %v", e.Type, e.SchemaName, e.Schema)
			}
		}
	}
}

func TestRoute(t *testing.T) {
	o := &Outbox{Events: []*EventRoute{
		{Type: "Order.Placed"}, {Type: "Order.*"}, {Type: "*"}, {Type: "Order.*.Late"},
	}}
	for _, c := range []struct{ name, eventType, want string }{
		{"exact type wins over patterns", "Order.Placed", "Order.Placed"},
		{"longer pattern wins", "Order.Shipped", "Order.*"},
		{"longest pattern wins, though declared last", "Order.Shipped.Late", "Order.*.Late"},
		{"the rest", "Refund", "*"},
		{"a type that reads like a pattern is matched by it", "Order.*", "Order.*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := o.Route(c.eventType); got == nil || got.Type != c.want {
				t.Errorf("Route(%q) = %v, want %s", c.eventType, got, c.want)
			}
		})
	}
	t.Run("undeclared", func(t *testing.T) {
		if got := (&Outbox{Events: []*EventRoute{{Type: "A"}}}).Route("B"); got != nil {
			t.Errorf("got %v, want nil", got)
		}
	})
}

func TestOutboxLanesAreMostUrgentFirst(t *testing.T) {
	want := map[string][]Lane{
		"tagOutbox":   {BackgroundLane},
		"accOutbox":   {CriticalLane, StandardLane, BackgroundLane},
		"orgOutbox":   {CriticalLane, StandardLane, BackgroundLane},
		"skillOutbox": {StandardLane, BackgroundLane},
		"wsOutbox":    {StandardLane, BackgroundLane},
		"schedOutbox": {StandardLane, BackgroundLane},
	}
	got := make(map[string][]Lane)
	for _, o := range defaultCatalog(t).Outboxes {
		got[o.Name] = o.Lanes()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTopics(t *testing.T) {
	want := []string{
		"domain-errors", "domain-metrics", "ier-audit-collector", "ier-funnel-critical", "ier-funnel-standard", "ier-notif-router",
		"ier-org-context-acl", "ier-org-schedule", "ier-tag-subscriber", "token-refresh-signal",
	}
	if diff := cmp.Diff(want, defaultCatalog(t).Topics()); diff != "" {
		t.Error(diff)
	}
}

func TestWithTopics(t *testing.T) {
	cat := defaultCatalog(t)
	before, err := DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	got, err := cat.WithTopics(map[string]string{"CLAIMS_HANDLER": "ier-claims-handler"})
	if err != nil {
		t.Fatal(err)
	}
	want := TargetSpec{Name: "CLAIMS_HANDLER", Kind: KindPubSub, Topic: "ier-claims-handler"}
	if diff := cmp.Diff(want, got.Targets["CLAIMS_HANDLER"]); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(got.Topics(), "ier-claims-handler") {
		t.Errorf("topics %v lack the stand-in", got.Topics())
	}
	if diff := cmp.Diff(before, cat, same); diff != "" {
		t.Errorf("the original changed: %s", diff)
	}
	for name, standIns := range map[string]map[string]string{
		"unknown target": {"NOBODY": "ier-nobody"},
		"no handler":     {"FUNNEL": "ier-other"},
		"bad topic":      {"CLAIMS_HANDLER": "x"},
		"own topic":      {"CLAIMS_HANDLER": "domain-metrics"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := cat.WithTopics(standIns); err == nil {
				t.Error("want an error")
			}
		})
	}
}

func TestPrintedDefaultLoadsFromAnywhere(t *testing.T) {
	want := defaultCatalog(t)
	var buf bytes.Buffer
	if err := want.Print(&buf); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := LoadCatalog(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Error(diff)
	}
}

const minimal = `targets: {T: {kind: pubsub, topic: the-topic}}
outboxes: [{name: box, slice: the slice, events: [{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]%s}]}]
`

func TestLoadCatalogFindsSchemasBesideItsFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("e.json", `{"$ref": "part.json"}`)
	write("part.json", `{"properties": {"n": {"type": "integer"}}}`)
	file := write("c.yaml", strings.ReplaceAll(minimal, "%s", ", schema: e.json"))
	cat, err := LoadCatalog(file)
	if err != nil {
		t.Fatal(err)
	}
	schema := cat.Outbox("box").Route("E").Schema
	if schema.Validate(map[string]any{"n": "x"}) == nil {
		t.Error("the schema's reference was not followed")
	}

	for name, c := range map[string]struct{ schema, want string }{
		"outside the directory": {"../e.json", "not a path below"},
		"missing":               {"none.json", "load none.json"},
		"remote reference":      {"remote.json", "leaves the catalog's directory"},
		"not JSON":              {"text.json", "read JSON"},
		"not a schema":          {"odd.json", "not a JSON Schema"},
		"dangling reference":    {"dangling.json", "nowhere"},
		"link out":              {"link.json", "load link.json"},
		"a key twice":           {"twice.json", "load twice.json: properties.n stands twice"},
		"not UTF-8":             {"latin.json", "load latin.json: it is not valid UTF-8"},
		"too large":             {"large.json", "load large.json: it is larger than 1 MiB"},
	} {
		write("twice.json", `{"properties": {"n": {"type": "integer"}, "m": {}, "n": {}}}`)
		write("latin.json", "{\"enum\": [\"caf\xe9\"]}")
		write("large.json", `{"description": "`+strings.Repeat("x", 1<<20)+`"}`)
		write("remote.json", `{"$ref": "https://example.com/x.json"}`)
		write("text.json", `nothing`)
		write("dangling.json", `{"$ref": "#/$defs/nowhere"}`)
		write("odd.json", `{"type": 7}`)
		outside := filepath.Join(t.TempDir(), "o.json")
		if err := os.WriteFile(outside, []byte(`{}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(dir, "link.json")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			_, err := LoadCatalog(write("bad.yaml", strings.ReplaceAll(minimal, "%s", ", schema: "+c.schema)))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "bad.yaml:2: ") {
				t.Errorf("got %v, want one at line 2 with %q", err, c.want)
			}
		})
	}
	t.Run("no such file", func(t *testing.T) {
		if _, err := LoadCatalog(filepath.Join(dir, "nowhere.yaml")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want not found", err)
		}
	})
}
