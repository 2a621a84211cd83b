package node_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"outboxrelay/contracts"
	"outboxrelay/contracts/node"
	"outboxrelay/contracts/node/nodetest"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/thorough"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

func TestGeneratedIsUpToDate(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := node.Generate(&got, catalog); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("default.ts")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("default.ts (go generate ./contracts/node writes it):\n%s", diff)
	}
}

// What is generated compiles, what its schemas refuse does not, and the rest holds at
// run time: the golden files, and appends to a Firestore.
func TestTypeScript(t *testing.T) {
	thorough.Long(t) // it is npm and Node that take it
	_, address := firestoretest.Start(t, firestore.Options{})
	typeScript(t, address)
}

func TestTypeScriptOnGoogle(t *testing.T) { typeScript(t, firestoretest.OnGoogle(t)) }

func typeScript(t *testing.T, address string) {
	out := nodetest.Build(t, ".")
	tests, err := filepath.Glob(filepath.Join(out, "test", "*.test.js"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("tests in %s: %v, %v", out, tests, err)
	}
	env := []string{"FIRESTORE_EMULATOR_HOST=" + address, "GOOGLE_CLOUD_PROJECT=p-" + uuid.NewString()[:8]}
	told := nodetest.Run(t, out, env, append([]string{"--test", "--test-reporter=tap"}, tests...)...)
	if !strings.Contains(told, "\n# fail 0\n") || strings.Contains(told, "\n# pass 0\n") {
		t.Errorf("node --test:\n%s", told)
	}
}

// Types of schemas: what stands in other files, within itself, and side by side.
func TestTypesOfSchemas(t *testing.T) {
	const text = `
targets: {T: {kind: pubsub, topic: a-topic}}
outboxes:
  - name: box
    slice: a slice
    events:
      - {type: order.placed, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: placed.json}
      - {type: tree.grown, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: tree.json}
      - {type: "tree.*", lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]}
`
	files := fstest.MapFS{
		"placed.json": {Data: []byte(`{"type": "object", "required": ["id", "lines", "other"], "additionalProperties": false, "properties": {
			"id": {"type": "string", "format": "uuid"}, "at": {"type": "string", "format": "date-time"}, "until": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}, "der Tag": {"type": "string", "format": "date-time"}, "kind": {"enum": ["new", "used", 3]}, "always": {"const": true},
			"total": {"$ref": "shared.json#/$defs/money"}, "tip": {"$ref": "shared.json#/$defs/money"}, "a-b": {"type": ["integer", "null"]},
			"lines": {"type": "array", "items": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}}}},
			"by": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"name": {"type": "string"}}}]}, "never": false, "any": {}}}`)},
		"shared.json": {Data: []byte(`{"$defs": {"money": {"type": "object", "required": ["cents"], "additionalProperties": false, "properties": {"cents": {"type": "integer"}}}}}`)},
		"tree.json":   {Data: []byte(`{"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "additionalProperties": {"type": "string"}}`)},
	}
	catalog, err := contracts.ParseCatalog("catalog.yaml", []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := node.Generate(&got, catalog); err != nil {
		t.Fatal(err)
	}
	_, types, _ := strings.Cut(got.String(), "traceId?: string;\n}\n\n")
	types, _, _ = strings.Cut(types, "// ---- the catalog")
	const want = `export type OrderPlaced = {
  "a-b"?: (null | number);
  always?: true;
  any?: unknown;
  at?: (Date | Timestamp | string);
  by?: (string | {
    name?: string;
    [name: string]: unknown;
  });
  "der Tag"?: (Date | Timestamp | string);
  id: string;
  kind?: ("new" | "used" | 3);
  lines: {
    sku: string;
    [name: string]: unknown;
  }[];
  never?: never;
  tip?: OrderPlacedMoney;
  total?: OrderPlacedMoney;
  until?: (((Date | Timestamp | string)) | null);
  other: unknown;
};

export type OrderPlacedMoney = {
  cents: number;
};

export type TreeGrown = {
  left?: TreeGrown;
  right?: TreeGrown;
  [name: string]: unknown;
};

export type Event = Common & (
  | { type: "order.placed"; outbox?: "box"; version?: 1; aggregateId: string; payload: OrderPlaced }
  | { type: "tree.grown"; outbox?: "box"; version?: 1; aggregateId: string; payload: TreeGrown }
  | { type: ` + "`tree.${string}`" + `; outbox: "box"; version?: number; aggregateId: string; payload: Payload }
);

`
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

func TestOtherDraftsAreRefused(t *testing.T) {
	files := fstest.MapFS{"s.json": {Data: []byte(`{"$schema": "http://json-schema.org/draft-07/schema#"}`)}}
	const text = `
targets: {T: {kind: pubsub, topic: a-topic}}
outboxes: [{name: box, slice: s, events: [{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: s.json}]}]
`
	catalog, err := contracts.ParseCatalog("catalog.yaml", []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Generate(&bytes.Buffer{}, catalog); err == nil || !strings.Contains(err.Error(), "want draft 2020-12") {
		t.Errorf("draft-07: %v", err)
	}
}

// What ajv would judge otherwise than the relay has no TypeScript.
func TestWordsOfAjvAreRefused(t *testing.T) {
	const text = `
targets: {T: {kind: pubsub, topic: a-topic}}
outboxes: [{name: box, slice: s, events: [{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: s.json}]}]
`
	for written, want := range map[string]string{
		`{"type": "string", "nullable": true}`: `"nullable" is no word of JSON Schema: null is refused all the same: write "type": ["string", "null"]`,
		`{"const": 9007199254740993}`:          `"const" holds 9007199254740993, which JavaScript reads as 9007199254740992`,
	} {
		files := fstest.MapFS{"s.json": {Data: []byte(`{"properties": {"x": ` + written + `}}`)}}
		catalog, err := contracts.ParseCatalog("catalog.yaml", []byte(text), files)
		if err != nil {
			t.Fatal(err)
		}
		if err := node.Generate(&bytes.Buffer{}, catalog); err == nil || !strings.Contains(err.Error(), "schema s.json#/properties/x: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
