package contracts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden is one file in testdata/golden: a record as JSON, and what becomes of
// it. Producers and consumers in other languages read the same files.
type golden struct {
	Outbox        string                       `json:"outbox"`
	Record        json.RawMessage              `json:"record"`
	Faults        []string                     `json:"faults"`
	Lane          Lane                         `json:"lane"`
	Tier          Tier                         `json:"tier"`
	Disagreements []string                     `json:"disagreements"`
	Envelope      json.RawMessage              `json:"envelope,omitempty"`
	OrderingKey   string                       `json:"orderingKey,omitempty"`
	Attributes    map[string]map[string]string `json:"attributes,omitempty"` // by target
}

func jsonOf(fields map[string]any) ([]byte, error) { return json.Marshal(jsonForm(fields)) }

// judged fills in what becomes of record.
func judged(t *testing.T, cat *Catalog, outbox string, record []byte) golden {
	t.Helper()
	rec, faults, err := DecodeJSON(outbox, "doc", record)
	if err != nil {
		t.Fatal(err)
	}
	checked := cat.Check(rec, faults)
	g := golden{
		Outbox: outbox, Record: record, Faults: []string{}, Lane: checked.Lane, Tier: checked.Tier,
		Disagreements: append([]string{}, checked.Disagreements...), Envelope: checked.Data,
	}
	for _, f := range checked.Faults {
		g.Faults = append(g.Faults, f.String())
	}
	if len(g.Faults) > 0 {
		return g
	}
	g.OrderingKey, g.Attributes = rec.AggregateID, make(map[string]map[string]string)
	for _, target := range checked.Route.Targets {
		m := NewMessage(rec, checked.Data, checked.Lane, target, "")
		if m.OrderingKey != g.OrderingKey || !bytes.Equal(m.Data, checked.Data) {
			t.Errorf("message for %s: ordering key %q, data %s", target, m.OrderingKey, m.Data)
		}
		g.Attributes[target] = m.Attributes
	}
	return g
}

// goldenRecords returns the JSON form of every record in testdata/golden, by
// file name without its ending: outbox.what.
func goldenRecords(t *testing.T, cat *Catalog) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	add := func(name string, fields map[string]any) {
		data, err := jsonOf(fields)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = data
	}
	for _, o := range cat.Outboxes {
		for _, e := range o.Events {
			seed := uint64(len(out) + 1)
			rec := sampleOf(rand.New(rand.NewPCG(seed, seed)), o, e, "aggregate-1", int64(seed), sampleTime)
			add(o.Name+"."+strings.ReplaceAll(e.Type, "*", "Any"), rec.ProducerFields())
		}
	}
	for name, change := range goldenChanges {
		add("accOutbox."+name, changed(soundFields(t), change))
	}
	return out
}

// goldenChanges makes records of note out of a sound WalletDeducted. Names of
// those with faults start with "invalid".
var goldenChanges = map[string]map[string]any{
	"minimal":                 {"eventVersion": gone, "aggregateType": gone, "traceparent": gone, "producer": gone, "payload": map[string]any{}},
	"lane-and-tier-disagree":  {"lane": "BACKGROUND_LANE", "dlqTier": "SAFE_AUTO"},
	"malformed-traceparent":   {"traceparent": "not-a-traceparent"},
	"payload-to-escape":       {"payload": map[string]any{"accountId": "<&>\u2028\"\\", "note": "價格 🙂\n", "big": int64(9007199254740993), "small": 1e-9}},
	"shard-of-no-use":         {"shard": "an outbox of one shard has no use for it"},
	"thin-role-change":        {"eventType": "RoleChanged", "dlqTier": "SECURITY_BLOCK", "payload": map[string]any{"accountId": "acc-1"}},
	"role-in-short-form":      {"eventType": "PolicyChanged", "dlqTier": "SECURITY_BLOCK", "payload": map[string]any{"role": "admin", "policies": []any{}, "claims": map[string]any{}}},
	"invalid-role-change":     {"eventType": "RoleChanged", "dlqTier": "SECURITY_BLOCK", "payload": map[string]any{"roles": "admin", "policies": []any{int64(7), ""}, "claims": []any{"plan"}}},
	"invalid-missing":         {"eventId": gone, "aggregateVersion": gone, "payload": gone},
	"invalid-null":            {"traceId": nil, "traceparent": nil},
	"invalid-mistyped":        {"aggregateId": int64(7), "aggregateVersion": "7", "payload": "{}", "occurredAt": "yesterday"},
	"invalid-uuid":            {"eventId": "42", "idempotencyKey": "42:acc-1:7"},
	"invalid-idempotency-key": {"idempotencyKey": "acc-1:7"},
	"invalid-lane-and-tier":   {"lane": "FAST_LANE", "dlqTier": "SAFE"},
	"invalid-event-type":      {"eventType": "Surprise"},
	"invalid-event-version":   {"eventVersion": int64(2)},
	"invalid-payload":         {"payload": map[string]any{"accountId": int64(7), "amount": "ten"}},
	"invalid-long-trace":      {"traceId": strings.Repeat("x", MaxAttributeBytes+1)},
}

func TestGolden(t *testing.T) {
	cat := defaultCatalog(t)
	compareGolden(t, cat, filepath.Join("testdata", "golden"), goldenRecords(t, cat))
}

// compareGolden holds what becomes of records against the files of dir.
func compareGolden(t *testing.T, cat *Catalog, dir string, records map[string][]byte) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		t.Run(name, func(t *testing.T) {
			outbox, what, _ := strings.Cut(name, ".")
			got := judged(t, cat, outbox, records[name])
			if (len(got.Faults) > 0) != strings.HasPrefix(what, "invalid") {
				t.Errorf("faults: %q", got.Faults)
			}
			var buf bytes.Buffer
			enc := json.NewEncoder(&buf)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(got); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, name+".json")
			if *update {
				if err := os.WriteFile(file, buf.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), buf.String()); diff != "" {
				t.Errorf("%s (go test ./contracts -update rewrites the files)", diff)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(records) {
		t.Errorf("%d files in %s, want %d", len(files), dir, len(records))
	}
}

func TestNewMessageOfAReplay(t *testing.T) {
	rec := &Record{Outbox: "box", EventID: "id", EventType: "E", EventVersion: 2, AggregateID: "a", AggregateVersion: 3, IdempotencyKey: "id:a:3", TraceID: "t", Producer: "p", Lane: StandardLane}
	want := map[string]string{
		"eventId": "id", "eventType": "E", "eventVersion": "2", "aggregateId": "a", "aggregateVersion": "3", "idempotencyKey": "id:a:3",
		"traceId": "t", "lane": "CRITICAL_LANE", "outbox": "box", "target": "T", "producer": "p", "replay": "dead-letter",
	}
	got := NewMessage(rec, []byte("{}"), CriticalLane, "T", "dead-letter")
	if diff := cmp.Diff(want, got.Attributes); diff != "" {
		t.Error(diff)
	}
	long := NewMessage(rec, nil, CriticalLane, "T", strings.Repeat("%2F", 400)).Attributes[AttrReplay]
	if len(long) != MaxAttributeBytes {
		t.Errorf("replay is %d bytes long, want %d", len(long), MaxAttributeBytes)
	}
}

func Example() {
	catalog, err := DefaultCatalog()
	if err != nil {
		fmt.Println(err)
		return
	}
	record := `{
		"eventId": "0b0e2a52-4f0b-4b0e-9d5c-1f6f6f1a2b3c", "eventType": "AccountCreated", "aggregateId": "acc-1", "aggregateVersion": 1,
		"idempotencyKey": "0b0e2a52-4f0b-4b0e-9d5c-1f6f6f1a2b3c:acc-1:1", "traceId": "t-1", "lane": "CRITICAL_LANE", "dlqTier": "SAFE_AUTO",
		"occurredAt": "2026-02-19T12:00:00Z", "createdAt": "2026-02-19T12:00:00Z", "payload": {"locale": "en"}, "status": "pending"
	}`
	rec, faults, err := DecodeJSON("accOutbox", "doc", []byte(record))
	if err != nil {
		fmt.Println(err)
		return
	}
	checked := catalog.Check(rec, faults)
	fmt.Println(checked.Faults.Err(), checked.Lane, checked.Disagreements, checked.Route.Targets)
	// Output: <nil> STANDARD_LANE [lane] [FUNNEL]
}
