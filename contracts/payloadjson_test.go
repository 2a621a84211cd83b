package contracts

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// A schema says the same of a payload and of what is written of it.
func TestASchemaJudgesWhatIsWritten(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(`{
		"properties": {"x": {"type": "integer", "minimum": 3}, "": {"type": ["string", "object"], "maxLength": 3, "maxProperties": 1}, "pending": {"enum": [1, 1e21, "time", null]}},
		"additionalProperties": {"type": ["array", "number", "boolean", "null"], "uniqueItems": true, "multipleOf": 0.5}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("s", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("s")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := &oddSource{data: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes")}
		payload := map[string]any{}
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			payload[s.text()] = s.value(2)
		}
		if len(scanPayload(payload).faults) > 0 {
			return
		}
		written := string(appendMap(nil, payload))
		read, err := readPayload(written)
		if err != nil {
			t.Fatalf("%v, of %s", err, written)
		}
		if got, want := schemaFaults(schema, read), schemaFaults(schema, jsonForm(payload)); got.Error() != want.Error() {
			t.Fatalf("faults %v, want %v, of %s", got, want, written)
		}
	})
}
