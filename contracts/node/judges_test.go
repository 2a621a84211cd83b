package node_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// verdicts prints, for each event type, which of its payloads are accepted.
const verdicts = `
import { readFileSync } from 'node:fs';
import { Firestore } from '@google-cloud/firestore';
import { InvalidError, Outbox } from './outbox.js';
const events = new Outbox(new Firestore({ projectId: 'nowhere' }));
const accepted = (type: string, payload: unknown) => {
  try {
    return events.records({ type, aggregateId: 'a', aggregateVersion: 1, payload } as any).length === 1;
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    return false;
  }
};
const payloads: { [type: string]: unknown[] } = JSON.parse(readFileSync(process.argv[2]!, 'utf8'));
console.log(JSON.stringify(Object.fromEntries(Object.entries(payloads).map(([type, all]) => [type, all.map((p) => accepted(type, p))]))));
`

// judged is a schema, and what is held against it.
type judged struct {
	schema   string
	payloads []string // as JSON
}

// judgedAlike fails where a producer's judgement of a payload is not the relay's.
func judgedAlike(t *testing.T, cases []judged) {
	t.Helper()
	var events strings.Builder
	files, said, want := fstest.MapFS{}, map[string][]json.RawMessage{}, map[string][]bool{}
	for i, c := range cases {
		files[fmt.Sprintf("s%d.json", i)] = &fstest.MapFile{Data: []byte(c.schema)}
		fmt.Fprintf(&events, "{type: t%d, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: s%d.json}, ", i, i)
	}
	text := "targets: {T: {kind: pubsub, topic: a-topic}}\noutboxes: [{name: box, slice: s, events: [" + events.String() + "]}]"
	catalog, err := contracts.ParseCatalog("catalog.yaml", []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		name := fmt.Sprintf("t%d", i)
		for _, payload := range c.payloads {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(payload))
			if err != nil {
				t.Fatal(err)
			}
			said[name] = append(said[name], json.RawMessage(payload))
			want[name] = append(want[name], catalog.Outboxes[0].Route(name).Schema.Validate(v) == nil)
		}
	}
	input, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "payloads.json")
	if err := os.WriteFile(file, input, 0o600); err != nil {
		t.Fatal(err)
	}
	got := map[string][]bool{}
	if err := json.Unmarshal([]byte(runWith(t, catalog, verdicts, file)), &got); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		name := fmt.Sprintf("t%d", i)
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s: of %v are accepted (-by the relay +by the producer):\n%s", c.schema, c.payloads, diff)
		}
	}
}

// A pattern is that of the relay's engine: JavaScript reads some of them otherwise, and cannot read others.
func TestPatternsAreTheRelays(t *testing.T) {
	thorough.Long(t) // it is npm and Node that take it
	texts := []string{
		"", "a", "A", "ab", "AB", "a\nb", "a\n", "\n", "\r", "a\rb", "\u2028", " ", "\u00a0", "\ufeff", "\v", "\t", "1", "\u0663", "é", "É", "aé", "\u017f", "\u212a", "k", "K", "ſ",
		"ß", "ẞ", "😀", "a😀", "a-b", "a.b", "a/b", "]", "\\", "^", "$", "aaaa", "_", "α", "Σ", "ς", "\u0085", "日本", "a]", "x{2}", "xx", "\x7f",
	}
	var cases []judged
	for _, pattern := range []string{
		`^\s$`, `^\S+$`, `^\d$`, `^\w+$`, `\b`, `\Bb`, `^.$`, `^a.b$`, `a$`, `\Aa\z`, `(?i)^k$`, `(?i)^[a-s]$`, `(?i)ß`, `(?i)^σ$`, `(?s)^.$`, `(?m)^b`, `(?m)a$`, `(?P<x>a)b`, `(?<x>a)`,
		`^[[:alpha:]]+$`, `^[^[:space:]]$`, `^\pL+$`, `^\p{Greek}$`, `^\PL$`, `\Qa.b\E`, `^[a-z-]+$`, `^[\]\\^]$`, `a{2,}`, `^(?:a|b)*?$`, `^a{0}$`, `(?U)a+`, `[^\x00-\x{10FFFF}]`,
		`^x{2}$`, `a/b`, `]`, `\-`, `(|a)+b`, `(?i:A)b`, `^\x{1F600}$`, `^[^a]$`, `\a|\f|\v`, `^$`, ``, `{`, `x{2`, `\_`,
	} {
		c := judged{schema: `{"properties": {"x": {"pattern": ` + quote(pattern) + `}}}`}
		keys := judged{schema: `{"properties": {"in": {"patternProperties": {` + quote(pattern) + `: false}}}}`}
		for _, text := range texts {
			c.payloads = append(c.payloads, `{"x": `+quote(text)+`}`)
			if text != "" { // which is no key for Firestore
				keys.payloads = append(keys.payloads, `{"in": {`+quote(text)+`: 1}}`)
			}
		}
		cases = append(cases, c, keys)
	}
	judgedAlike(t, cases)
}

// Names that every object of JavaScript has are absent like others where a payload does not give them.
func TestNamesOfObjectsAreTheRelays(t *testing.T) {
	thorough.Long(t) // it is npm and Node that take it
	var cases []judged
	for _, name := range []string{"constructor", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf"} {
		n := quote(name)
		payloads := []string{`{}`, `{` + n + `: "x"}`, `{` + n + `: 1}`, `{"a": 1}`, `{"a": 1, ` + n + `: 1}`}
		for _, schema := range []string{
			`{"required": [` + n + `]}`,
			`{"properties": {` + n + `: {"type": "string"}}}`,
			`{"properties": {` + n + `: false}}`,
			`{"properties": {"a": {}}, "additionalProperties": false}`,
			`{"properties": {` + n + `: {}}, "additionalProperties": false}`,
			`{"properties": {"b": {}, "c": {}, "d": {}, "e": {}, "f": {}, "g": {}, "h": {}, "i": {}, "j": {}, "a": {}}, "additionalProperties": false}`,
			`{"dependentRequired": {` + n + `: ["a"]}}`,
			`{"dependentRequired": {"a": [` + n + `]}}`,
			`{"dependentSchemas": {` + n + `: {"required": ["a"]}}}`,
			`{"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}`,
			`{"properties": {"a": {"$ref": "#/$defs/` + name + `"}}, "$defs": {` + n + `: {"type": "string"}}}`,
			`{` + n + `: 7}`,
		} {
			cases = append(cases, judged{schema, payloads})
		}
	}
	judgedAlike(t, cases)
}

func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}
