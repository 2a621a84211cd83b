package diff_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/diff"
)

// today is the day of every change.
var today = time.Date(2026, time.April, 1, 0, 0, 0, 0, time.UTC)

// matching is the catalog of the matching service, in pieces to be changed.
type matching struct {
	text  string
	files fstest.MapFS
}

func open(t *testing.T) *matching {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("..", "catalogs", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	m := &matching{text: string(read("matching.yaml")), files: make(fstest.MapFS)}
	schemas, err := filepath.Glob(filepath.Join("..", "catalogs", "matching", "*.json"))
	if err != nil || len(schemas) != 5 {
		t.Fatalf("schemas %v, %v", schemas, err)
	}
	for _, schema := range schemas {
		name := "matching/" + filepath.Base(schema)
		m.files[name] = &fstest.MapFile{Data: read(name)}
	}
	return m
}

func (m *matching) load(t *testing.T) *contracts.Catalog {
	t.Helper()
	c, err := contracts.ParseCatalog("matching.yaml", []byte(m.text), m.files)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// edit replaces text of the catalog that occurs in it.
func (m *matching) edit(t *testing.T, old, text string) {
	t.Helper()
	if !strings.Contains(m.text, old) {
		t.Fatalf("%q is not in the catalog", old)
	}
	m.text = strings.Replace(m.text, old, text, 1)
}

// schema replaces text of an event's schema.
func (m *matching) schema(t *testing.T, event, old, text string) {
	t.Helper()
	file := m.files["matching/"+event+".v1.schema.json"]
	if !strings.Contains(string(file.Data), old) {
		t.Fatalf("%q is not in the schema of %s", old, event)
	}
	file.Data = []byte(strings.Replace(string(file.Data), old, text, 1))
}

// second declares version 2 of match.accepted beside the first.
func (m *matching) second(t *testing.T) {
	t.Helper()
	m.files["matching/accepted.v2.json"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(
		string(m.files["matching/match.accepted.v1.schema.json"].Data), "counterparty_user_id", "other_user_id"))}
	m.edit(t, "  - name: chatOutbox", `      - type: match.accepted
        version: 2
        lane: STANDARD_LANE
        tier: REVIEW_REQUIRED
        targets: [MATCH_EVENTS]
        schema: matching/accepted.v2.json
        aggregateId: "{payload.match_id}"
        idempotencyKey: "{payload.offer_id}:{payload.actor_user_id}:accepted:v{eventVersion}"

  - name: chatOutbox`)
}

// without takes version 1 of match.accepted out.
func (m *matching) without(t *testing.T) {
	t.Helper()
	start, end := strings.Index(m.text, "      - type: match.accepted #"), strings.Index(m.text, "      - type: match.accepted\n")
	if end < 0 {
		end = strings.Index(m.text, "  - name: chatOutbox")
	}
	m.text = m.text[:start] + m.text[end:]
}

func deprecated(day string) func(t *testing.T, m *matching) {
	return func(t *testing.T, m *matching) {
		m.edit(t, "type: match.accepted # a user accepts an offer\n", "type: match.accepted # a user accepts an offer\n        deprecatedOn: "+day+"\n")
	}
}

// lines are changes as kind, path and change.
func lines(changes []diff.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Kind)+": "+c.Path()+" "+c.Change)
	}
	return out
}

// Ten changes that are made of such a catalog, and more that follow from them.
func TestTenChanges(t *testing.T) {
	const accepted, offer = "matchingOutbox match.accepted v1", "matchingOutbox match.offer_generated v1"
	for _, c := range []struct {
		name        string
		before      func(t *testing.T, m *matching) // what both have; nil: the catalog as it is
		change      func(t *testing.T, m *matching)
		want        []string
		consequence string // of the first
	}{
		{"nothing", nil, func(*testing.T, *matching) {}, nil, ""},
		{
			"1 an optional field", nil,
			func(t *testing.T, m *matching) {
				m.schema(t, "match.accepted", `"mutual":`, `"source": {"type": "string"}, "mutual":`)
			},
			[]string{"additive: " + accepted + " payload.source is new, and optional"},
			"consumers that do not know it pass over it",
		},
		{
			"2 a required field", nil,
			func(t *testing.T, m *matching) {
				m.schema(t, "match.accepted", `"mutual":`, `"source": {"type": "string"}, "mutual":`)
				m.schema(t, "match.accepted", `"required": [`, `"required": ["source", `)
			},
			[]string{"breaking: " + accepted + " payload.source is new, and required"},
			"records that producers append as before are contract violations and go to the dead-letter queue",
		},
		{
			"3 a field is gone", nil,
			func(t *testing.T, m *matching) {
				m.schema(t, "match.offer_generated", `"required": ["composite", "psychological", "visual", "authenticity"]`, `"required": ["composite", "psychological", "authenticity"]`)
				m.schema(t, "match.offer_generated", `"visual": {"$ref": "#/$defs/score"},`, ``)
			},
			[]string{"breaking: " + offer + " payload.score.visual is gone"},
			"consumers that read it find nothing, or what no schema checked",
		},
		{
			"4 another type", nil,
			func(t *testing.T, m *matching) {
				m.schema(t, "match.accepted", `"mutual": {"type": "boolean"}`, `"mutual": {"type": "string"}`)
			},
			[]string{"breaking: " + accepted + " payload.mutual is string, was boolean"},
			"records that producers append as before are contract violations and go to the dead-letter queue; consumers meet what the old schema ruled out: those that check it refuse the event, the others may misread it",
		},
		{
			"5 a value of an enum more, another less", nil,
			func(t *testing.T, m *matching) {
				m.schema(t, "match.offer_generated", `["daily", "anchor"]`, `["daily", "weekly"]`)
			},
			[]string{"breaking: " + offer + ` payload.offer_type is "anchor" no more`, "breaking: " + offer + ` payload.offer_type may be "weekly"`},
			"records that producers append as before are contract violations and go to the dead-letter queue",
		},
		{
			"6 a new version beside the old", nil,
			func(t *testing.T, m *matching) {
				m.second(t)
				deprecated("2026-04-01")(t, m)
			},
			[]string{"heed: " + accepted + " deprecatedOn is 2026-04-01", "additive: matchingOutbox match.accepted v2 is a new version"},
			"this version may be removed from 2026-05-01 on, and these have to move before: analytics, chat, notifications",
		},
		{
			"7 a version goes too early",
			func(t *testing.T, m *matching) { m.second(t); deprecated("2026-03-03")(t, m) },
			func(t *testing.T, m *matching) { m.without(t) },
			[]string{"breaking: " + accepted + " deprecatedOn is gone 29 days after 2026-03-03"},
			"records of it that are still appended, and those that wait undelivered, are contract violations, and its consumers get none",
		},
		{
			"7 a version goes before it is deprecated", func(t *testing.T, m *matching) { m.second(t); deprecated("2026-04-06")(t, m) },
			func(t *testing.T, m *matching) { m.without(t) },
			[]string{"breaking: " + accepted + " deprecatedOn is gone before 2026-04-06"},
			"",
		},
		{
			"7 a version goes in time",
			func(t *testing.T, m *matching) { m.second(t); deprecated("2026-03-02")(t, m) },
			func(t *testing.T, m *matching) { m.without(t) },
			[]string{"heed: " + accepted + " is gone after its notice"},
			"",
		},
		{
			"7 an event goes without notice", nil,
			func(t *testing.T, m *matching) { m.without(t) },
			[]string{"breaking: " + accepted + " is gone, and was not deprecated"},
			"",
		},
		{
			"8 lane and tier", nil,
			func(t *testing.T, m *matching) {
				m.edit(t, "lane: STANDARD_LANE\n        tier: REVIEW_REQUIRED", "lane: BACKGROUND_LANE\n        tier: SECURITY_BLOCK")
			},
			[]string{"heed: " + accepted + " lane is BACKGROUND_LANE, was STANDARD_LANE", "heed: " + accepted + " tier is SECURITY_BLOCK, was REVIEW_REQUIRED"},
			"records may overtake those of their aggregate that wait in the old lane; the new lane's SLA holds, and producers that write the old lane are counted as disagreeing",
		},
		{
			"9 targets and consumers", nil,
			func(t *testing.T, m *matching) {
				m.edit(t, "targets: [MATCH_EVENTS]\n        consumers: [notifications, chat, analytics]", "targets: [CHAT_EVENTS]\n        consumers: [search, chat, analytics]")
				m.edit(t, "topic: safety-events", "topic: safety-events-2")
			},
			[]string{
				"breaking: target SAFETY_EVENTS topic is safety-events-2, was safety-events", "breaking: " + accepted + " targets MATCH_EVENTS is gone", "heed: " + accepted + " consumers notifications is gone",
				"additive: " + accepted + " targets CHAT_EVENTS is new", "additive: " + accepted + " consumers search is new",
			},
			"subscriptions to safety-events get nothing any more",
		},
		{
			"10 key and aggregate", nil,
			func(t *testing.T, m *matching) {
				m.edit(t, `idempotencyKey: "{payload.offer_id}:{payload.actor_user_id}:accepted"`, `idempotencyKey: "{payload.offer_id}:{payload.actor_user_id}"`)
				m.edit(t, `aggregateId: "{payload.match_id}"`, `aggregateId: "{payload.actor_user_id}"`)
			},
			[]string{
				"breaking: " + accepted + " idempotencyKey is {payload.offer_id}:{payload.actor_user_id}, was {payload.offer_id}:{payload.actor_user_id}:accepted",
				"breaking: " + accepted + " aggregateId is {payload.actor_user_id}, was {payload.match_id}",
			},
			"records under the old key, those that wait included, are contract violations, and a repeat with the new key is taken for another event",
		},
		{
			"an outbox goes", nil,
			func(_ *testing.T, m *matching) {
				m.text = m.text[:strings.Index(m.text, "  - name: trustSafetyOutbox")]
			},
			[]string{
				"breaking: trustSafetyOutbox safety.report_submitted v1 is gone, and was not deprecated", "breaking: trustSafetyOutbox safety.moderation_decided v1 is gone, and was not deprecated",
				"heed: outbox trustSafetyOutbox is gone",
			},
			"records of it, those that wait and those that are still appended, stay pending, unread and without an alert, and its consumers get none",
		},
		{
			"what only behaves otherwise", nil,
			func(_ *testing.T, m *matching) {
				m.text = strings.Replace(m.text, "delays: [5s, 30s, 2m, 10m, 30m]", "delays: [5s]\n  ratePerSecond: 7", 1) +
					"lanes: {CRITICAL_LANE: {sla: 1s, workers: 8}}\nretry: {maxAttempts: 5}\n"
				m.text = strings.Replace(m.text, "slice: chat\n", "slice: messages\n    onDelivered: delete\n    retention: 24h\n    shards: 4\n", 1)
			},
			[]string{
				"heed: outbox chatOutbox slice is messages, was chat", "heed: outbox chatOutbox onDelivered is delete, was mark", "heed: outbox chatOutbox retention is 24h0m0s, was 168h0m0s",
				"heed: outbox chatOutbox shards is 4, was 1", "heed: lane CRITICAL_LANE sla is 1s, was 500ms", "heed: lane CRITICAL_LANE has other bounds",
				"heed: retry is 5 attempts, 500ms to 10s times 4, was 3 attempts, 500ms to 10s times 4", "heed: replay delays is 5s, was 5s 30s 2m0s 10m0s 30m0s", "heed: replay ratePerSecond is 7, was 20",
			},
			"it is the producer of records that name none",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			was, is := open(t), open(t)
			if c.before != nil {
				c.before(t, was)
				c.before(t, is)
			}
			c.change(t, is)
			changes := diff.Compare(was.load(t), is.load(t), today)
			if d := cmp.Diff(c.want, lines(changes)); d != "" {
				t.Error(d)
			}
			for i, change := range changes {
				if change.Consequence == "" || i == 0 && c.consequence != "" && change.Consequence != c.consequence {
					t.Errorf("%s: consequence %q, want %q", change.Path(), change.Consequence, c.consequence)
				}
				if change.Kind == diff.Breaking && change.Remedy == "" {
					t.Errorf("%s: no remedy", change.Path())
				}
			}
		})
	}
}

// catalogOf has one outbox with one pattern and the events given.
func catalogOf(t *testing.T, events ...string) *contracts.Catalog {
	t.Helper()
	text := "targets: {T: {kind: pubsub, topic: the-topic}, U: {kind: pubsub, topic: the-other}, H: {kind: handler}}\noutboxes:\n- name: box\n  slice: s\n  events:\n"
	for _, e := range events {
		text += "  - {lane: STANDARD_LANE, tier: SAFE_AUTO, " + e + "}\n"
	}
	c, err := contracts.ParseCatalog("c.yaml", []byte(text), fstest.MapFS{"s.json": {Data: []byte(`{}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPatternsAndSchemas(t *testing.T) {
	const all = "type: '*', targets: [T]"
	for _, c := range []struct {
		name    string
		was, is []string
		want    []string
	}{
		{"an entry of its own", []string{all}, []string{all, "type: E, targets: [T, U]"}, []string{
			"heed: box E v1 has an entry of its own", "heed: box E v1 version is one, was any", "additive: box E v1 targets U is new",
		}},
		{"no entry any more", []string{all, "type: E, targets: [T, U]"}, []string{all}, []string{
			"breaking: box E v1 targets U is gone", "heed: box E v1 has no entry of its own any more",
		}},
		{"any version no more", []string{all}, []string{all + ", version: 2"}, []string{"breaking: box * version is one, was any"}},
		{"a new event", []string{"type: E, targets: [T]"}, []string{"type: E, targets: [T]", "type: F, targets: [T]"}, []string{"additive: box F v1 is new"}},
		{"a schema", []string{all}, []string{all + ", schema: s.json"}, []string{"breaking: box * schema is new"}},
		{"a schema less", []string{all + ", schema: s.json"}, []string{all}, []string{"breaking: box * schema is gone"}},
		{"rules of people and tokens", []string{"type: E, targets: [H]"}, []string{"type: E, targets: [H], revokeTokens: true"}, []string{"heed: box E v1 revokeTokens is true, was false"}},
		{"notice taken back", []string{all + ", deprecatedOn: 2026-01-01"}, []string{all}, []string{"additive: box * deprecatedOn is gone"}},
		{"notice put off", []string{all + ", deprecatedOn: 2026-01-01"}, []string{all + ", deprecatedOn: 2026-02-01"}, []string{"heed: box * deprecatedOn is 2026-02-01, was 2026-01-01"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, lines(diff.Compare(catalogOf(t, c.was...), catalogOf(t, c.is...), today))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTargetsAndOutboxes(t *testing.T) {
	load := func(text string) *contracts.Catalog {
		t.Helper()
		c, err := contracts.ParseCatalog("c.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	event := "slice: s, events: [{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]}]"
	was := load("targets: {T: {kind: pubsub, topic: the-topic}, A: {kind: handler}, B: {kind: handler}, C: {kind: handler}}\noutboxes: [{name: box, " + event + "}]")
	is := load("targets: {T: {kind: pubsub, topic: the-topic}, A: {kind: pubsub, topic: the-a}, C: {kind: handler, ratePerSecond: 5}, D: {kind: handler}}\noutboxes: [{name: box, " + event + "}, {name: more, " + event + "}]")
	want := []string{
		"breaking: target A kind is pubsub, was handler", "heed: target B is gone", "heed: target C ratePerSecond is 5, was 500",
		"additive: target D is new", "additive: outbox more is new",
	}
	if d := cmp.Diff(want, lines(diff.Compare(was, is, today))); d != "" {
		t.Error(d)
	}
}

func TestDefaultCatalogDiffersFromNothing(t *testing.T) {
	load := func() *contracts.Catalog {
		c, err := contracts.DefaultCatalog()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if got := diff.Compare(load(), load(), today); len(got) > 0 {
		t.Errorf("changes %v", lines(got))
	}
}

func TestTemplatesAreJudged(t *testing.T) {
	was, is := open(t), open(t)
	was.text += "templates:\n  gone: {title: a, body: b}\n  kept: {title: a, body: b}\n  same: {title: a, body: b}\n"
	is.text += "templates:\n  new: {title: a, body: b}\n  kept: {title: a, body: c}\n  same: {title: a, body: b}\n"
	var got []string
	for _, c := range diff.Compare(was.load(t), is.load(t), today) {
		got = append(got, string(c.Kind)+" "+c.Path()+" "+c.Change)
	}
	want := []string{"breaking template gone is gone", "heed template kept body has another text", "additive template new is new"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A catalog without templates leaves texts to who shows a message.
func TestTheFirstAndTheLastTemplateAreJudged(t *testing.T) {
	without, with := open(t), open(t)
	with.text += "templates:\n  one: {title: a, body: b}\n"
	for name, tc := range map[string]struct {
		was, is *matching
		want    []string
	}{
		"the first": {without, with, []string{
			"heed templates: jobs that name any other are dead at once, where they were sent without a text", "additive template one: jobs may name it",
		}},
		"the last": {with, without, []string{
			"breaking template one: as no template is left, jobs are sent without a text, and those for email are dead at once",
		}},
	} {
		var got []string
		for _, c := range diff.Compare(tc.was.load(t), tc.is.load(t), today) {
			got = append(got, string(c.Kind)+" "+c.Path()+": "+c.Consequence)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
