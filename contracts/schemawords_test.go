package contracts_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// What ajv acts on and JSON Schema does not know is told where a schema says it, and nowhere else.
func TestWordsThatProducersJudgeOtherwiseAreToldOf(t *testing.T) {
	const text = `
targets: {T: {kind: pubsub, topic: a-topic}}
outboxes:
  - name: box
    slice: s
    events:
      - {type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: s.json}
`
	files := fstest.MapFS{
		"s.json": {Data: []byte(`{"$async": true, "const": {"nullable": true}, "properties": {"nullable": {"type": "string"}, "id": {"id": "x"}, "$async": {"$ref": "o.json#/$defs/a b"}},
			"$defs": {"nobody's": {"nullable": true}}}`)},
		"o.json": {Data: []byte(`{"$defs": {"a b": {"anyOf": [{}, {"type": "string", "nullable": true}]}}}`)},
	}
	catalog, err := contracts.ParseCatalog("catalog.yaml", []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`catalog.yaml:7: event E of outbox box: schema o.json#/$defs/a%20b/anyOf/1: "nullable" is no word of JSON Schema: null is refused all the same; write "type": ["string", "null"], or whichever type it is, or anyOf with {"type": "null"}`,
		`catalog.yaml:7: event E of outbox box: schema s.json: "$async" is no word of JSON Schema: it says nothing of a payload; remove it`,
		`catalog.yaml:7: event E of outbox box: schema s.json#/properties/id: "id" is no word of JSON Schema since draft 6: it names nothing; write $id, or remove it`,
	}
	if diff := cmp.Diff(want, catalog.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
