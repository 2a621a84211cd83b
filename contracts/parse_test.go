package contracts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A catalog in pieces, each of which a case replaces.
const (
	soundTargets = "targets:\n  T: {kind: pubsub, topic: the-topic}\n"
	soundEvent   = "{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]}"
)

func box(events ...string) string {
	return "outboxes:\n- name: box\n  slice: s\n  events:\n  - " + strings.Join(events, "\n  - ") + "\n"
}

func event(with string) string {
	return "{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], " + with + "}"
}

func TestCatalogFaults(t *testing.T) {
	sound := soundTargets + box(soundEvent)
	for _, c := range []struct {
		name, yaml string
		want       []string // lines, without the file's name
	}{
		{"empty file", "", []string{"1: the file is empty; write targets and outboxes"}},
		{"only a comment", "# nothing\n", []string{"1: the file is empty; write targets and outboxes"}},
		{"not YAML", "targets:\n\t- x", []string{"2: not YAML: found character that cannot start any token; mend the syntax"}},
		{"a list", "- a", []string{"1: catalog is a list, not a mapping; write it as key: value lines"}},
		{"second document", sound + "---\na: b\n", []string{"8: the file holds a second document; keep one"}},
		{"unknown section", sound + "extras: 1\n", []string{`8: catalog: unknown key "extras"; remove it or use one of lanes, targets, retry, replay, everyOutbox, outboxes, templates`}},
		{"nothing that is needed", "retry: {maxAttempts: 3}", []string{
			`1: catalog: key "targets" is missing; add it`, `1: catalog: key "outboxes" is missing; add it`,
		}},
		{"key without value", sound + "retry:\n", []string{`8: catalog: "retry" has no value; give it one or leave the key out`}},
		{"duplicate key", sound + "retry: {max: 10s, max: 11s}\n", []string{`8: duplicate key "max"; keep one of them`}},
		{"duplicate target", "targets:\n  T: {kind: pubsub, topic: the-topic}\n  T: {kind: handler}\n" + box(soundEvent), []string{`3: duplicate key "T"; keep one of them`}},
		{"unknown lane in lanes", sound + "lanes:\n  FAST_LANE: {workers: 1}\n", []string{`9: lanes: unknown key "FAST_LANE"; remove it or use one of CRITICAL_LANE, STANDARD_LANE, BACKGROUND_LANE`}},
		{"lane without policy", sound + "lanes:\n  CRITICAL_LANE:\n", []string{`9: lanes: "CRITICAL_LANE" has no value; give it one or leave the key out`}},
		{"bad lane policy", sound + "lanes:\n  CRITICAL_LANE: {sla: fast, workers: 0, run: 1.5, window: many, settleLinger: -1ms}\n", []string{
			"9: lane CRITICAL_LANE: sla is not a duration; write it like 500ms, 2s or 168h",
			"9: lane CRITICAL_LANE: workers is 0, out of range; use 1 to 10000",
			"9: lane CRITICAL_LANE: run is a number, want an integer; write digits",
			"9: lane CRITICAL_LANE: window is text, want an integer; write digits",
			"9: lane CRITICAL_LANE: settleLinger is -1ms, less than 0s; raise it",
		}},
		{"an integer that is not plain", sound + "lanes:\n  CRITICAL_LANE: {workers: 0x10}\n", []string{"9: lane CRITICAL_LANE: workers is 0x10, want decimal digits alone; write digits"}},
		{"an integer beyond 63 bits", soundTargets + box(event("version: 9223372036854775808")), []string{"7: event E of outbox box: version is 9223372036854775808, out of range; use 1 to 9223372036854775807"}},
		{"bad retry", sound + "retry: {maxAttempts: 0, initial: 2s, max: 1s, multiplier: .inf}\n", []string{
			"8: retry: maxAttempts is 0, out of range; use 1 to 1000",
			"8: retry: multiplier is no decimal number; write digits",
			"8: retry: max is 1s, less than initial, 2s; raise max or lower initial",
		}},
		{"multiplier below one", sound + "retry: {multiplier: 0.5}\n", []string{"8: retry: multiplier is 0.5, out of range; use 1 to 1000"}},
		{"bad replay", sound + "replay: {delays: [5s, soon], ratePerSecond: 0}\n", []string{
			"8: replay: ratePerSecond is 0, out of range; use 0.001 to 100000",
			"8: replay: delays is not a duration; write it like 500ms, 2s or 168h",
		}},
		{"delays no list", sound + "replay: {delays: 5s}\n", []string{"8: replay: delays is text, want a list; write it as - items or [a, b]"}},
		{"no delay at all", sound + "replay: {delays: [0s, -5s, 1s, 1s]}\n", []string{
			"8: replay: delays is 0s, less than 1ms; raise it", "8: replay: delays is -5s, less than 1ms; raise it",
		}},
		{"no delays", sound + "replay: {delays: []}\n", []string{
			"8: replay: delays is empty; name one delay or more; give tier REVIEW_REQUIRED to the event types that must not be replayed by themselves",
		}},
		{"target without topic", "targets:\n  T: {kind: pubsub}\n" + box(soundEvent), []string{`2: target T: key "topic" is missing; add it`}},
		{"target without kind", "targets:\n  T: {topic: the-topic}\n" + box(soundEvent), []string{`2: target T: key "kind" is missing; add it`}},
		{"unknown kind", "targets:\n  T: {kind: kafka, topic: the-topic}\n" + box(soundEvent), []string{`2: target T: kind "kafka" is unknown; use pubsub or handler`}},
		{"unknown kind with a bad topic", "targets:\n  T:\n    kind: pub-sub\n    topic: ab\n    ratePerSecond: 0\n" + box(soundEvent), []string{
			`3: target T: kind "pub-sub" is unknown; use pubsub or handler`,
			`4: target T: topic "ab" is not 3 to 255 letters, digits or -._~+% that start with a letter; name another topic`,
			"5: target T: ratePerSecond is 0, out of range; use 0.001 to 100000",
		}},
		{"handler with a topic", "targets:\n  T: {kind: handler, topic: the-topic}\n" + box(soundEvent), []string{"2: target T: a handler has no topic; remove the topic or make the kind pubsub"}},
		{"topic with a rate", "targets:\n  T: {kind: pubsub, topic: the-topic, ratePerSecond: 5}\n" + box(soundEvent), []string{"2: target T: a topic has no ratePerSecond; remove the rate or make the kind handler"}},
		{"handler with a bad rate", "targets:\n  T: {kind: handler, ratePerSecond: fast}\n" + box(soundEvent), []string{"2: target T: ratePerSecond is no decimal number; write digits"}},
		{"handler without a rate", "targets:\n  T: {kind: handler, ratePerSecond: 0}\n" + box(soundEvent), []string{"2: target T: ratePerSecond is 0, out of range; use 0.001 to 100000"}},
		{"topic too short", "targets:\n  T: {kind: pubsub, topic: ab}\n" + box(soundEvent), []string{`2: target T: topic "ab" is not 3 to 255 letters, digits or -._~+% that start with a letter; name another topic`}},
		{"topic reserved", "targets:\n  T: {kind: pubsub, topic: google-thing}\n" + box(soundEvent), []string{`2: target T: topic "google-thing" starts with goog, which Pub/Sub reserves; name another topic`}},
		{"topic of our own", "targets:\n  T: {kind: pubsub, topic: domain-metrics}\n" + box(soundEvent), []string{`2: target T: topic "domain-metrics" is a topic of the service's own; name another topic`}},
		{"topic with its project", "targets:\n  T: {kind: pubsub, topic: projects/p/topics/t}\n" + box(soundEvent), []string{`2: target T: topic "projects/p/topics/t" is not 3 to 255 letters, digits or -._~+% that start with a letter; name another topic`}},
		{"bad target name", "targets:\n  T: {kind: handler}\n  'a b': {kind: handler}\n" + box(soundEvent), []string{`3: target "a b" is not 1 to 100 letters, digits or _.- that start with a letter; rename it`}},
		{"no outbox", soundTargets + "outboxes: []\n", []string{"3: the catalog has no outbox; declare one"}},
		{"outbox without anything", soundTargets + "outboxes:\n- {}\n", []string{
			`4: outbox 1: key "name" is missing; add it`, `4: outbox 1: key "slice" is missing; add it`, `4: outbox 1: key "events" is missing; add it`,
		}},
		{"bad outbox", soundTargets + "outboxes:\n- name: box\n  slice: s\n  onDelivered: burn\n  retention: 0s\n  shards: 0\n  events: []\n", []string{
			"4: outbox box has no event; declare one",
			`6: outbox box: onDelivered "burn" is unknown; use mark or delete`,
			"7: outbox box: retention is 0s, less than 1s; raise it",
			"8: outbox box: shards is 0, out of range; use 1 to 64",
		}},
		{"collection with a slash", strings.Replace(sound, "name: box", "name: a/b", 1), []string{`4: outbox "a/b" is not a Firestore collection ID: it is . or .. or holds a slash; rename it`}},
		{"collection reserved", strings.Replace(sound, "name: box", "name: __box__", 1), []string{`4: outbox "__box__" is reserved by Firestore, as every __name__; rename it`}},
		{"collection of our own", strings.Replace(sound, "name: box", "name: dead-letter-queue", 1), []string{`4: outbox "dead-letter-queue" is a collection of the service's own; rename it`}},
		{"name is a number", strings.Replace(sound, "name: box", "name: 7", 1), []string{"4: outbox 1: name is an integer, want text; write text, in quotes if need be"}},
		{"duplicate outbox", sound + "- name: box\n  slice: s\n  events: [" + soundEvent + "]\n", []string{"8: outbox box is declared twice; join the two"}},
		{"event without anything", soundTargets + box("{}"), []string{
			`7: event 1 of outbox box: key "type" is missing; add it`, `7: event 1 of outbox box: key "lane" is missing; add it`,
			`7: event 1 of outbox box: key "tier" is missing; add it`, `7: event 1 of outbox box: key "targets" is missing; add it`,
		}},
		{"event is text", soundTargets + box("E"), []string{"7: event 1 of outbox box is text, not a mapping; write it as key: value lines"}},
		{"unknown words in an event", soundTargets + box("{type: E, lane: FAST, tier: MILD, targets: [NOBODY], color: red}"), []string{
			`7: event 1 of outbox box: unknown key "color"; remove it or use one of type, version, deprecatedOn, lane, tier, targets, consumers, schema, idempotencyKey, aggregateId, twoPersonRule, revokeTokens`,
			`7: event E of outbox box: lane "FAST" is unknown; use one of CRITICAL_LANE, STANDARD_LANE, BACKGROUND_LANE`,
			`7: event E of outbox box: tier "MILD" is unknown; use one of SAFE_AUTO, REVIEW_REQUIRED, SECURITY_BLOCK`,
			`7: event E of outbox box: target "NOBODY" is unknown; declare it under targets`,
		}},
		{"no target", soundTargets + box("{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: []}"), []string{"7: event E of outbox box has no target; name one"}},
		{"target twice", soundTargets + box("{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T, T]}"), []string{"7: event E of outbox box names target T twice; keep one of them"}},
		{"two-person rule is a word", soundTargets + box(event("twoPersonRule: please")), []string{"7: event E of outbox box: twoPersonRule is neither true nor false; write true or false"}},
		{"two-person rule of a mild tier", soundTargets + box(event("twoPersonRule: true")), []string{"7: event E of outbox box: twoPersonRule is for tier SECURITY_BLOCK alone; remove it, or use tier SECURITY_BLOCK"}},
		{"revoking is a word", soundTargets + box(event("revokeTokens: please")), []string{"7: event E of outbox box: revokeTokens is neither true nor false; write true or false"}},
		{"revoking without a handler", soundTargets + box(event("revokeTokens: true")), []string{
			"7: event E of outbox box: revokeTokens is for events with a handler target alone; remove it, or name a target of kind handler",
		}},
		{"revoking with an unknown target", soundTargets + box("{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [U], revokeTokens: true}"), []string{
			`7: event E of outbox box: target "U" is unknown; declare it under targets`,
		}},
		{"bad version", soundTargets + box(event("version: 0")), []string{"7: event E of outbox box: version is 0, out of range; use 1 to 9223372036854775807"}},
		{"version is a word", soundTargets + box(event("version: latest")), []string{"7: event E of outbox box: version is text, want an integer; write digits"}},
		{"event twice", soundTargets + box(soundEvent, soundEvent), []string{"8: outbox box: event E is declared twice, also in line 7; keep one of them, or give it another version"}},
		{"event also in every outbox", "everyOutbox:\n- " + soundEvent + "\n" + soundTargets + box(soundEvent), []string{"9: outbox box: event E is declared twice, also in line 2; keep one of them, or give it another version"}},
		{"event twice in every outbox", "everyOutbox:\n- " + soundEvent + "\n- " + soundEvent + "\n" + soundTargets + "outboxes: [{name: box, slice: s, events: []}]\n", []string{
			"3: every outbox: event E is declared twice, also in line 2; keep one of them, or give it another version",
		}},
		{"patterns of equal length", soundTargets + box(pattern("Order*"), pattern("*Order")), []string{
			"8: outbox box: patterns *Order and Order* of line 7 are of equal length and match the same events; make one of them longer, since the longer pattern wins",
		}},
		{"pattern with brackets", soundTargets + box(pattern("Order[AB]*")), []string{
			`7: event Order[AB]* of outbox box: type holds one of ?[]{}\, none of which is special here: '*' alone is; rename it`,
		}},
		{"pattern with two stars", soundTargets + box(pattern("Order**")), []string{"7: event Order** of outbox box: type holds '*' twice in a row; rename it"}},
		{"pattern with a space", soundTargets + box(pattern("Order *")), []string{"7: event Order * of outbox box: type is longer than 200 bytes or holds spaces or characters that are not printable; rename it"}},
		{"missing schema", soundTargets + box(event("schema: none.json")), []string{"7: event E of outbox box: schema none.json: load none.json: open none.json: file does not exist; mend the schema's file or name another"}},
		{"bad schema", soundTargets + box(event("schema: bad.json")), []string{
			"7: event E of outbox box: schema bad.json: not a JSON Schema at /type; mend the schema's file or name another",
		}},
		{"text in the place of a merge", soundTargets + box("{<<: x, type: E}"), []string{
			"7: << names text; merge mappings only",
			`7: event E of outbox box: key "lane" is missing; add it`, `7: event E of outbox box: key "tier" is missing; add it`, `7: event E of outbox box: key "targets" is missing; add it`,
		}},
		{"text among merges", soundTargets + box("{<<: [&e "+soundEvent+", 2026-01-01], type: E}"), []string{"7: << names a date; merge mappings only"}},
		{"a list as key", soundTargets + "? [a]\n: b\n" + box(soundEvent), []string{"3: a key is a list; use plain text as key"}},
		{"a mapping that merges itself", "targets: &t {<<: *t, T: {kind: handler}}\n" + box("{type: true, lane: 1.5, tier: ~, targets: T}"), []string{
			`6: event 1 of outbox box: "tier" has no value; give it one or leave the key out`,
			"6: event 1 of outbox box: type is a boolean, want text; write text, in quotes if need be",
			"6: event 1 of outbox box: lane is a number, want text; write text, in quotes if need be",
			"6: event 1 of outbox box: targets is text, want a list; write it as - items or [a, b]",
		}},
		{"name over two lines", strings.Replace(sound, "name: box", "name: \"a\\nb/\"", 1), []string{`4: outbox "a\nb/" is not a Firestore collection ID: it is . or .. or holds a slash; rename it`}},
		{"fault at a name over two lines", strings.Replace(sound, "name: box\n  slice: s", "name: \"a\\nb\"\n  slice: s\n  shards: 0", 1), []string{
			`4: outbox "a\nb" is longer than 1024 bytes or holds characters that are not printable; rename it`,
			"6: outbox a b: shards is 0, out of range; use 1 to 64",
		}},
		{"empty text", strings.Replace(sound, "slice: s", "slice: ''", 1), []string{"5: outbox box: slice is empty; give it a value"}},
		{"syntax error in a second document", sound + "---\n\t- x", []string{"9: not YAML: found character that cannot start any token; mend the syntax"}},
		{"faults of all sections at once, by line", "lanes: 7\ntargets:\n  T: {kind: pubsub}\nretry: {maxAttempts: many}\n" + box("{type: E}"), []string{
			"1: lanes is an integer, not a mapping; write it as key: value lines",
			`3: target T: key "topic" is missing; add it`,
			"4: retry: maxAttempts is text, want an integer; write digits",
			`9: event E of outbox box: key "lane" is missing; add it`,
			`9: event E of outbox box: key "tier" is missing; add it`,
			`9: event E of outbox box: key "targets" is missing; add it`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{"bad.json": {Data: []byte(`{"type": "text"}`)}}
			_, err := ParseCatalog("c.yaml", []byte(c.yaml), files)
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

func pattern(p string) string {
	return fmt.Sprintf("{type: '%s', lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]}", p)
}

func TestCatalogWarnings(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		want       []string
	}{
		{"none", soundTargets + box(soundEvent), nil},
		{"unused target", soundTargets + "  U: {kind: handler}\n" + box(soundEvent), []string{"c.yaml:3: target U is used by no event; name it in an event or remove it"}},
		{"target fed from two lanes", soundTargets + box(soundEvent, "{type: F, lane: CRITICAL_LANE, tier: SAFE_AUTO, targets: [T]}"), []string{
			"c.yaml:4: outbox box feeds target T from STANDARD_LANE and CRITICAL_LANE: the order of an aggregate is not kept across lanes; use one lane for it, or accept that order is kept within each lane only",
		}},
		{"two outboxes, each in its lane", soundTargets + box(soundEvent) + "- name: other\n  slice: s\n  events: [{type: E, lane: CRITICAL_LANE, tier: SAFE_AUTO, targets: [T]}]\n", nil},
		{"patterns of another length that share events", soundTargets + box(pattern("Order*"), pattern("*Ord")), nil},
		{"patterns of equal length that share no event", soundTargets + box(pattern("A*x"), pattern("B*x")), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cat, err := ParseCatalog("c.yaml", []byte(c.yaml), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, cat.Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCatalogDefaultsAreThoseOfTheDefaultFile(t *testing.T) {
	got, err := ParseCatalog("c.yaml", []byte(soundTargets+box(soundEvent, pattern("P*"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := defaultCatalog(t)
	if diff := cmp.Diff([]any{want.Lanes, want.Retry, want.Replay}, []any{got.Lanes, got.Retry, got.Replay}); diff != "" {
		t.Error(diff)
	}
	o, sample := got.Outboxes[0], want.Outboxes[0]
	if o.OnDelivered != sample.OnDelivered || o.Retention != sample.Retention || o.Shards != sample.Shards {
		t.Errorf("got %+v, want the defaults of %+v", o, sample)
	}
	if o.Route("E").Version != 1 || o.Route("P1").Version != 0 {
		t.Errorf("versions %d and %d, want 1 for an exact type and any for a pattern", o.Route("E").Version, o.Route("P1").Version)
	}
}

func TestCatalogOverridesOneKey(t *testing.T) {
	text := "lanes: {BACKGROUND_LANE: {workers: 3}}\nretry: {max: 20s}\nreplay: {delays: [1m]}\n" + soundTargets + box(event("version: any"))
	got, err := ParseCatalog("c.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := defaultLanes()[BackgroundLane]
	want.Workers = 3
	if diff := cmp.Diff(want, got.Lanes[BackgroundLane]); diff != "" {
		t.Error(diff)
	}
	if len(got.Replay.Delays) != 1 || got.Replay.RatePerSecond != defaultReplay().RatePerSecond {
		t.Errorf("replay is %+v, want one delay and the default rate", got.Replay)
	}
	if got.Retry.MaxAttempts != 3 || got.Retry.Max.Seconds() != 20 {
		t.Errorf("retry is %+v", got.Retry)
	}
	if v := got.Outboxes[0].Route("E").Version; v != 0 {
		t.Errorf("version is %d, want any", v)
	}
}

func TestCatalogAnchorsAndMerges(t *testing.T) {
	text := `
targets: {T: {kind: pubsub, topic: the-topic}}
everyOutbox:
- &audit {type: AuditEvent, lane: BACKGROUND_LANE, tier: SAFE_AUTO, targets: &all [T]}
outboxes:
- name: box
  slice: s
  events:
  - {<<: *audit, type: A}
  - {<<: [{lane: STANDARD_LANE}, *audit], type: B, targets: *all}
`
	got, err := ParseCatalog("c.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	lanes := make(map[string]Lane)
	for _, e := range got.Outboxes[0].Events {
		lanes[e.Type] = e.Lane
	}
	want := map[string]Lane{"A": BackgroundLane, "B": StandardLane, "AuditEvent": BackgroundLane}
	if diff := cmp.Diff(want, lanes); diff != "" {
		t.Error(diff)
	}
}

// TestPrintRoundTrip prints catalogs made at random and reads them back.
func TestPrintRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := randomCatalog(t)
		want, err := ParseCatalog("c.yaml", []byte(text), nil)
		if err != nil {
			t.Skip(err)
		}
		roundTrip(t, want)
	})
}

func randomCatalog(t *rapid.T) string {
	var b strings.Builder
	millis := rapid.Int64Range(0, 100_000_000)
	fmt.Fprintf(&b, "lanes: {%s: {sla: %dms, workers: %d, settleLinger: %dus}}\n", rapid.SampledFrom(Lanes()).Draw(t, "lane"),
		millis.Draw(t, "sla")+1, rapid.IntRange(1, 99).Draw(t, "workers"), millis.Draw(t, "linger"))
	fmt.Fprintf(&b, "retry: {multiplier: %v}\nreplay: {delays: [%dms, %ds], ratePerSecond: %v}\n", rapid.Float64Range(1, 1000).Draw(t, "multiplier"),
		millis.Draw(t, "first")+1, millis.Draw(t, "second")+1, rapid.Float64Range(0.001, 100_000).Draw(t, "rate"))
	b.WriteString(soundTargets + "  H: {kind: handler}\neveryOutbox:\n- {type: Every, lane: BACKGROUND_LANE, tier: SAFE_AUTO, targets: [H], revokeTokens: ")
	fmt.Fprintf(&b, "%v}\noutboxes:\n", rapid.Bool().Draw(t, "revoke"))
	for i := range rapid.IntRange(1, 3).Draw(t, "outboxes") {
		fmt.Fprintf(&b, "- name: %q\n  slice: %q\n  onDelivered: %s\n  retention: %ds\n  shards: %d\n  events:\n",
			fmt.Sprint(rapid.SampledFrom([]string{"box", "true", "7", "ö x", "~"}).Draw(t, "name"), i), rapid.StringMatching(`[ -~]{1,12}`).Draw(t, "slice"),
			rapid.SampledFrom([]OnDelivered{MarkDelivered, DeleteDelivered}).Draw(t, "end"), 1+millis.Draw(t, "retention"), rapid.IntRange(1, 9).Draw(t, "shards"))
		for range rapid.IntRange(1, 4).Draw(t, "events") {
			fmt.Fprintf(&b, "  - {type: '%s', version: %s, lane: %s, tier: %s, targets: [T]}\n", rapid.StringMatching(`[A-Z0-9.*]{1,6}`).Draw(t, "type"),
				rapid.SampledFrom([]string{"any", "1", "12"}).Draw(t, "version"), rapid.SampledFrom(Lanes()).Draw(t, "event lane"), rapid.SampledFrom(Tiers()).Draw(t, "tier"))
		}
	}
	return b.String()
}

func roundTrip(t interface{ Fatalf(string, ...any) }, want *Catalog) { roundTripIn(t, want, embedded) }

func roundTripIn(t interface{ Fatalf(string, ...any) }, want *Catalog, schemas fs.FS) {
	var buf bytes.Buffer
	if err := want.Print(&buf); err != nil {
		t.Fatalf("%v", err)
	}
	got, err := ParseCatalog("printed.yaml", buf.Bytes(), schemas)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, buf.String())
	}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Fatalf("%s\nin:\n%s", diff, buf.String())
	}
}

// FuzzParseCatalog wants no panic, a line in every fault, and a round trip of
// whatever is sound.
func FuzzParseCatalog(f *testing.F) {
	data, err := embedded.ReadFile(DefaultCatalogName)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(soundTargets + box(soundEvent, pattern("A*"), pattern("*B"))))
	f.Add([]byte("everyOutbox: &a [*a]\ntargets: &t {<<: *t}\n"))
	f.Add([]byte("a: &a [x]\nb: {<<: *a, ? [k] : v}\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cat, err := ParseCatalog("c.yaml", data, embedded)
		if err == nil {
			roundTrip(t, cat)
			return
		}
		invalid, ok := errors.AsType[*CatalogError](err)
		if !ok || len(invalid.Faults) == 0 {
			t.Fatalf("got %v, want a CatalogError with faults", err)
		}
		for _, f := range invalid.Faults {
			if f.Line < 1 || f.Problem == "" || f.Remedy == "" {
				t.Errorf("fault %+v lacks something", f)
			}
		}
	})
}

func TestTwoPersonRule(t *testing.T) {
	text := soundTargets + box("{type: E, lane: CRITICAL_LANE, tier: SECURITY_BLOCK, targets: [T], twoPersonRule: true}", "{type: F, lane: CRITICAL_LANE, tier: SECURITY_BLOCK, targets: [T]}")
	got, err := ParseCatalog("c.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	o := got.Outboxes[0]
	if !o.Route("E").TwoPersonRule || o.Route("F").TwoPersonRule {
		t.Errorf("the rule is %v for E and %v for F, want it for E alone", o.Route("E").TwoPersonRule, o.Route("F").TwoPersonRule)
	}
}
