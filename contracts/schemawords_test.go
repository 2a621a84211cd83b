package contracts_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// wantWarnings wants these of a catalog whose one event has the schema s.json.
func wantWarnings(t *testing.T, files fstest.MapFS, want []string) {
	t.Helper()
	const text = `
targets: {T: {kind: pubsub, topic: a-topic}}
outboxes:
  - name: box
    slice: s
    events:
      - {type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: s.json}
`
	catalog, err := contracts.ParseCatalog("catalog.yaml", []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, catalog.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// What ajv acts on and JSON Schema does not know is told where a schema says it, and nowhere else.
func TestWordsThatProducersJudgeOtherwiseAreToldOf(t *testing.T) {
	files := fstest.MapFS{
		"s.json": {Data: []byte(`{"$async": true, "const": {"nullable": true}, "properties": {"nullable": {"type": "string"}, "id": {"id": "x"}, "$async": {"$ref": "o.json#/$defs/a b"}},
			"$defs": {"nobody's": {"nullable": true}}}`)},
		"o.json": {Data: []byte(`{"$defs": {"a b": {"anyOf": [{}, {"type": "string", "nullable": true}]}}}`)},
	}
	want := []string{
		`catalog.yaml:7: event E of outbox box: schema o.json#/$defs/a%20b/anyOf/1: "nullable" is no word of JSON Schema: null is refused all the same; write "type": ["string", "null"], or whichever type it is, or anyOf with {"type": "null"}`,
		`catalog.yaml:7: event E of outbox box: schema s.json: "$async" is no word of JSON Schema: it says nothing of a payload; remove it`,
		`catalog.yaml:7: event E of outbox box: schema s.json#/properties/id: "id" is no word of JSON Schema since draft 6: it names nothing; write $id, or remove it`,
	}
	wantWarnings(t, files, want)
}

// What JavaScript reads as another number than the one that is written is told where a schema judges by it; the
// relay compares exactly. A double is told by its shortest text, as a record's is.
func TestNumbersThatJavaScriptHasNotAreToldOf(t *testing.T) {
	files := fstest.MapFS{
		"s.json": {Data: []byte(`{"properties": {
			"a": {"const": {"n": [9007199254740993]}}, "b": {"enum": ["x", -9007199254740995, 9007199254740997]},
			"c": {"minimum": 1152921504606846976, "maximum": 1e400, "exclusiveMinimum": -1e400, "exclusiveMaximum": 0.10000000000000000555, "multipleOf": 1e-400},
			"sound": {"const": {"n": [9007199254740992, 1152921504606847000, 0.1, 19.99, 1e300, 1e2, -0.0, 5e-324, 100000000000000000000]}, "minimum": 0.10, "maxLength": 9007199254740993},
			"said": {"default": 9007199254740993, "examples": [1e400], "minimum": -9007199254740992}}}`)},
	}
	const of, text400 = "catalog.yaml:7: event E of outbox box: schema s.json#/properties/", "let the payload have it as a text"
	const otherwise, have = ", which JavaScript reads as ", ": a producer there judges otherwise than the relay; write one that it has, or " + text400
	want := []string{
		of + `a: "const" holds 9007199254740993` + otherwise + `9007199254740992` + have,
		of + `b: "enum" holds -9007199254740995` + otherwise + `-9007199254740996` + have,
		of + `c: "exclusiveMaximum" holds 0.10000000000000000555` + otherwise + `0.1` + have,
		of + `c: "exclusiveMinimum" holds -1e400` + otherwise + `infinite` + have,
		of + `c: "maximum" holds 1e400` + otherwise + `infinite` + have,
		of + `c: "minimum" holds 1152921504606846976` + otherwise + `1152921504606847000` + have,
		of + `c: "multipleOf" holds 1e-400` + otherwise + `0` + have,
	}
	wantWarnings(t, files, want)
}
