package contracts

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func version(with string) string {
	return "{type: E, lane: STANDARD_LANE, tier: SECURITY_BLOCK, targets: [T], " + with + "}"
}

func TestVersionFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"the same version twice", []string{version("version: 2"), version("version: 2")}, []string{
			"8: outbox box: event E is declared twice, also in line 7; keep one of them, or give it another version",
		}},
		{"any version beside one", []string{version("version: any"), version("version: 2")}, []string{
			"8: outbox box: event E is declared for any version beside one version, also in line 7; give both a version of their own",
		}},
		{
			"all that versions have in common",
			[]string{version("version: 1"), "{type: E, lane: CRITICAL_LANE, tier: SAFE_AUTO, targets: [T], version: 2}"},
			[]string{
				"8: outbox box: versions 2 and 1 of event E, the latter in line 7, differ in lane; make them equal: the order of an aggregate is kept within a lane",
				"8: outbox box: versions 2 and 1 of event E, the latter in line 7, differ in tier; make them equal: operators know the tier by the event type",
			},
		},
		{"two-person rule of one version", []string{version("version: 1"), version("version: 2, twoPersonRule: true")}, []string{
			"8: outbox box: versions 2 and 1 of event E, the latter in line 7, differ in twoPersonRule; make them equal: operators know it by the event type",
		}},
		{
			"one key for both",
			[]string{version("version: 1, schema: id.json, idempotencyKey: '{payload.id}'"), version("version: 2, schema: id.json, idempotencyKey: '{payload.id}'")},
			[]string{
				"8: outbox box: versions 2 and 1 of event E, the latter in line 7, have the same idempotencyKey: an event could be appended in one of them only; add {eventVersion} to that of the newer",
			},
		},
		{"a day that is none", []string{version("deprecatedOn: soon"), version("version: 2, deprecatedOn: 2026-02-30"), version("version: 3, deprecatedOn: [a]")}, []string{
			"7: event E of outbox box: deprecatedOn is not a day; write it like 2026-02-19",
			"8: event E of outbox box: deprecatedOn is not a day; write it like 2026-02-19",
			"9: event E of outbox box: deprecatedOn is not a day; write it like 2026-02-19",
		}},
		{"consumers", []string{version("consumers: []"), version("version: 2, consumers: x"), version("version: 3, consumers: [a, a, 'b c', 7]")}, []string{
			"7: event E of outbox box: consumers is empty; name one or leave the key out",
			"8: event E of outbox box: consumers is text, want a list; write it as - items or [a, b]",
			"9: event E of outbox box names consumer a twice; keep one of them",
			`9: event E of outbox box: consumer "b c" is not 1 to 100 letters, digits or _.- that start with a letter; rename it`,
			"9: event E of outbox box: consumers is an integer, want text; write text, in quotes if need be",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{"id.json": {Data: []byte(`{"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}`)}}
			_, err := ParseCatalog("c.yaml", []byte(soundTargets+box(c.events...)), files)
			invalid, ok := errors.AsType[*CatalogError](err)
			if !ok {
				t.Fatalf("got %v, want a CatalogError", err)
			}
			var want []string
			for _, line := range c.want {
				want = append(want, "c.yaml:"+line)
			}
			if diff := cmp.Diff(want, strings.Split(invalid.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const (
	firstSchema  = `{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`
	secondSchema = `{"type": "object", "required": ["first", "last"], "properties": {"first": {"type": "string"}, "last": {"type": "string"}}}`
)

// movingCatalog is one whose consumers move from version 1 of E to version 2.
func movingCatalog(t *testing.T) (*Catalog, fstest.MapFS) {
	t.Helper()
	text := `targets: {OLD: {kind: pubsub, topic: the-old}, NEW: {kind: pubsub, topic: the-new}}
outboxes:
- name: box
  slice: s
  events:
  - {type: E, version: 2, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [NEW], consumers: [mail], schema: two.json}
  - {type: E, deprecatedOn: 2026-02-19, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [OLD], consumers: [search, audit], schema: one.json}
  - {type: "X.*", version: 3, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [OLD]}
  - {type: "X.*", version: 4, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [NEW]}
  - {type: "*", lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [OLD]}
`
	files := fstest.MapFS{"one.json": {Data: []byte(firstSchema)}, "two.json": {Data: []byte(secondSchema)}}
	cat, err := ParseCatalog("c.yaml", []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	return cat, files
}

// A build that does not know idempotencyKey refuses a catalog with it.
func TestPrintLeavesTheDefaultKeyOut(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, `, idempotencyKey: "{eventId}:{aggregateId}:{aggregateVersion}"`: false, `, idempotencyKey: "{eventId}"`: true,
	} {
		cat, err := ParseCatalog("c.yaml", []byte(soundTargets+"outboxes:\n- name: box\n  slice: a\n  events:\n  - {type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]"+text+"}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := cat.Print(&buf); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(buf.String(), "idempotencyKey"); got != want {
			t.Errorf("with %q the key is printed: %t, want %t:\n%s", text, got, want, buf.String())
		}
	}
}

func TestVersionsSideBySide(t *testing.T) {
	cat, files := movingCatalog(t)
	roundTripIn(t, cat, files)
	var buf bytes.Buffer
	if err := cat.Print(&buf); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"deprecatedOn: 2026-02-19\n", "consumers: [audit, search]\n"} {
		if !strings.Contains(buf.String(), line) {
			t.Errorf("printed without %q:\n%s", line, buf.String())
		}
	}
	if len(cat.Warnings) > 0 {
		t.Errorf("warnings %q", cat.Warnings)
	}

	o := cat.Outbox("box")
	if got := o.Route("E"); got.Version != 2 {
		t.Errorf("Route returns version %d, want the newest", got.Version)
	}
	old := o.RouteOf("E", 1)
	if want := time.Date(2026, 2, 19, 0, 0, 0, 0, time.UTC); !old.DeprecatedOn.Equal(want) {
		t.Errorf("deprecated on %v, want %v", old.DeprecatedOn, want)
	}
	if diff := cmp.Diff([]string{"audit", "search"}, old.Consumers); diff != "" {
		t.Error(diff)
	}
	versions := func(eventType string) (out []int64) {
		for _, v := range o.Versions(eventType) {
			out = append(out, v.Version)
		}
		return out
	}
	for eventType, want := range map[string][]int64{"E": {1, 2}, "X.y": {3, 4}, "Other": {0}} {
		if diff := cmp.Diff(want, versions(eventType)); diff != "" {
			t.Errorf("%s: %s", eventType, diff)
		}
	}
	if got := (&Outbox{}).Versions("E"); got != nil {
		t.Errorf("an outbox without events has versions %v", got)
	}
}

func TestCheckByVersion(t *testing.T) {
	cat, _ := movingCatalog(t)
	one, two := map[string]any{"name": "Ada Byron"}, map[string]any{"first": "Ada", "last": "Byron"}
	for _, c := range []struct {
		name, eventType string
		version         any
		payload         map[string]any
		targets         []string
		faults          string
	}{
		{"the old", "E", int64(1), one, []string{"OLD"}, ""},
		{"none means 1", "E", gone, one, []string{"OLD"}, ""},
		{"the new", "E", int64(2), two, []string{"NEW"}, ""},
		{"the old's payload in the new", "E", int64(2), one, []string{"NEW"}, "payload.first is missing; payload.last is missing"},
		{"the new's payload in the old", "E", int64(1), two, []string{"OLD"}, "payload.name is missing"},
		{"an unknown one, whatever its payload", "E", int64(3), map[string]any{}, []string{"NEW"}, "eventVersion is 3, want 1 or 2 as the catalog declares"},
		{"of a pattern", "X.y", int64(3), two, []string{"OLD"}, ""},
		{"newest of a pattern", "X.y", int64(4), two, []string{"NEW"}, ""},
		{"an unknown one of a pattern is not another pattern's", "X.y", int64(1), two, []string{"NEW"}, "eventVersion is 1, want 3 or 4 as the catalog declares"},
		{"any", "Other", int64(9), two, []string{"OLD"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fields := changed(soundFields(t), map[string]any{
				"eventType": c.eventType, "eventVersion": c.version, "payload": c.payload, "lane": "STANDARD_LANE", "dlqTier": "SAFE_AUTO",
			})
			both(t, cat, fields, func(t *testing.T, _ *Record, checked Checked) {
				if diff := cmp.Diff(c.faults, checked.Faults.Error()); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(c.targets, checked.Route.Targets); diff != "" {
					t.Error(diff)
				}
				if want := map[bool]Tier{true: ReviewRequired, false: SafeAuto}[c.faults != ""]; checked.Tier != want || checked.Lane != StandardLane {
					t.Errorf("tier %s, lane %s, want %s", checked.Tier, checked.Lane, want)
				}
			})
		})
	}
}

// Each version of an event has a record, and so a key, of its own.
func TestDualPublishing(t *testing.T) {
	cat, err := ParseCatalog("c.yaml", []byte(soundTargets+box(
		version("schema: one.json, idempotencyKey: '{aggregateId}:{payload.name}'"),
		version("version: 2, schema: two.json, idempotencyKey: '{aggregateId}:{payload.last}:v{eventVersion}'"),
	)), fstest.MapFS{"one.json": {Data: []byte(firstSchema)}, "two.json": {Data: []byte(secondSchema)}})
	if err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]bool)
	payloads := map[int64]map[string]any{1: {"name": "Byron"}, 2: {"first": "Ada", "last": "Byron"}}
	for _, route := range cat.Outbox("box").Versions("E") {
		rec, _ := DecodeRecord("box", "doc", changed(soundFields(t), map[string]any{
			"eventType": "E", "eventVersion": route.Version, "payload": payloads[route.Version], "lane": "STANDARD_LANE", "dlqTier": "SECURITY_BLOCK",
		}))
		if rec.IdempotencyKey, err = route.IdempotencyKey(rec); err != nil {
			t.Fatal(err)
		}
		checked := cat.Check(rec, nil)
		if len(checked.Faults) > 0 || checked.Route != route {
			t.Errorf("version %d: %v along %v", route.Version, checked.Faults, checked.Route)
		}
		keys[DocumentID(rec.IdempotencyKey)] = true
	}
	if !keys["acc-1:Byron"] || !keys["acc-1:Byron:v2"] || len(keys) != 2 {
		t.Errorf("documents %v", keys)
	}
}

func TestConsumerOfTwoVersionsIsAWarning(t *testing.T) {
	cat, err := ParseCatalog("c.yaml", []byte(soundTargets+box(version("consumers: [mail]"), version("version: 2, consumers: [mail, search]"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"c.yaml:8: outbox box: consumer mail is named by versions 2 and 1 of event E: while both are published it is told everything twice; name it in one of them, or see to it that it acts on one"}
	if diff := cmp.Diff(want, cat.Warnings); diff != "" {
		t.Error(diff)
	}
}
