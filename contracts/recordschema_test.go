package contracts

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func recordSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	set := newSchemaSet(embedded)
	set.compiler.AssertFormat()
	schema, err := set.compile("schemas/record.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// beyondSchema holds golden records whose faults JSON Schema cannot express:
// they are a matter of the catalog, or of the payload's own schema.
var beyondSchema = []string{"accOutbox.invalid-event-type", "accOutbox.invalid-event-version", "accOutbox.invalid-payload", "accOutbox.invalid-role-change"}

// TestRecordSchemaAgrees gives the same records to the schema for producers in
// other languages and to DecodeJSON and Check, and compares their verdicts.
func TestRecordSchemaAgrees(t *testing.T) {
	cat := defaultCatalog(t)
	corpus := goldenRecords(t, cat)
	for field, values := range fieldValues() {
		for i, v := range values {
			data, err := jsonOf(changed(soundFields(t), map[string]any{field: v}))
			if err != nil {
				t.Fatal(err)
			}
			corpus[fmt.Sprintf("accOutbox.%s-%d", field, i)] = data
		}
	}
	schema := recordSchema(t)
	for name, record := range corpus {
		if slices.Contains(beyondSchema, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			outbox, _, _ := strings.Cut(name, ".")
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(record))
			if err != nil {
				t.Fatal(err)
			}
			bySchema := schema.Validate(doc)
			byUs := judged(t, cat, outbox, record).Faults
			if (bySchema == nil) != (len(byUs) == 0) {
				t.Errorf("schema: %v\nours: %q\n%s", bySchema, byUs, record)
			}
		})
	}
}

// A dead letter that has no room for the whole record keeps what RecordFields lists.
func TestRecordFieldsAreThoseOfTheSchema(t *testing.T) {
	want := append(RecordFields(), FieldAttemptErrors)
	got := slices.Collect(maps.Keys(recordSchema(t).Properties))
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties of the schema (-want +got):\n%s", diff)
	}
}

// fieldValues lists values to try in each field, sound and unsound, except
// those that break only what JSON Schema cannot express.
func fieldValues() map[string][]any {
	anything := []any{gone, nil, true, 1.5, []any{}, map[string]any{"k": "v"}}
	text := append([]any{int64(7)}, anything...)
	number := append([]any{"7", int64(-1)}, anything...)
	timestamp := append([]any{int64(7), "", "2026-02-19", "2026-02-19 12:00:00Z", "2026-02-19T12:00:00", "2026-02-30T12:00:00Z", "2026-02-19T12:00:00.000000001Z", "2026-02-19T12:00:00+08:00"}, anything...)
	long := strings.Repeat("x", MaxAttributeBytes+1)
	return map[string][]any{
		FieldEventID:          append([]any{"", "7", "urn:uuid:0b0e2a52-4f0b-4b0e-9d5c-1f6f6f1a2b3c"}, text...),
		FieldEventType:        append([]any{"", long}, text...),
		FieldEventVersion:     append([]any{int64(0), int64(1)}, number...),
		FieldAggregateType:    append([]any{"", "x"}, text...),
		FieldAggregateID:      append([]any{""}, text...),
		FieldAggregateVersion: number,
		FieldIdempotencyKey:   append([]any{"", "a:b:c", long}, text...),
		FieldTraceID:          append([]any{"", "x", long}, text...),
		FieldTraceparent:      append([]any{"", "x", long}, text...),
		FieldProducer:         append([]any{"", "x", long}, text...),
		FieldLane:             append([]any{"", "critical_lane", "BACKGROUND_LANE"}, text...),
		FieldTier:             append([]any{"", "SAFE", "SAFE_AUTO"}, text...),
		FieldOccurredAt:       timestamp,
		FieldCreatedAt:        timestamp,
		FieldShard:            number,
		FieldPayload:          append([]any{"{}", int64(7)}, gone, nil, true, 1.5, []any{}),
		FieldStatus:           append([]any{"", "new", "pending", "held"}, text...),
		FieldAttempts:         append([]any{int64(0), int64(2)}, number...),
		FieldLastError:        append([]any{"", "x"}, text...),
		FieldNextAttemptAt:    timestamp,
		FieldDeliveredTargets: append([]any{"A", int64(7), []any{"A", "B"}, []any{int64(1)}, []any{nil}}, anything...),
		FieldDeliveredAt:      timestamp,
		FieldExpireAt:         timestamp,
		FieldAttemptErrors: append([]any{
			"A", int64(7),
			[]any{"A"},
			[]any{nil},
			[]any{map[string]any{}},
			[]any{map[string]any{"time": "2026-02-19T12:00:00Z", "attempt": int64(1), "target": "A", "code": "C", "message": nil}},
			[]any{map[string]any{"time": "soon"}},
			[]any{map[string]any{"attempt": "1"}},
			[]any{map[string]any{"attempt": int64(-1)}},
			[]any{map[string]any{"target": int64(1)}},
		}, anything...),
		"anotherField": text,
	}
}
