package outbox_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testdata is what producers in all languages are held to.
const testdata = "../testdata"

// A record of the golden files, said as an event, makes the same record; one that
// breaks the contract is refused with the same faults.
func TestGoldenRecordsAreWhatIsAppended(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	files, err := filepath.Glob(filepath.Join(testdata, "golden", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("golden files: %v, %v", files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.Contains(name, "invalid-missing") || strings.Contains(name, "invalid-null") || strings.Contains(name, "invalid-mistyped") ||
			strings.Contains(name, "invalid-lane") || strings.Contains(name, "invalid-idempotency") || strings.Contains(name, "shard-of-no-use") {
			continue // what no producer with a catalog writes
		}
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var golden struct {
				Outbox   string
				Record   json.RawMessage
				Faults   []string
				Lane     contracts.Lane
				Tier     contracts.Tier
				Envelope struct {
					Version  int64 `json:"event_version"`
					Producer string
				}
			}
			if err := json.Unmarshal(data, &golden); err != nil {
				t.Fatal(err)
			}
			want, _, err := contracts.DecodeJSON(golden.Outbox, "", golden.Record)
			if err != nil {
				t.Fatal(err)
			}
			event := outbox.Event{
				Outbox: golden.Outbox, Type: want.EventType, Version: want.EventVersion, AggregateType: want.AggregateType, AggregateID: want.AggregateID,
				AggregateVersion: want.AggregateVersion, EventID: want.EventID, OccurredAt: want.OccurredAt, TraceID: want.TraceID, Payload: want.Payload,
			}
			records, err := s.Records(t.Context(), event)
			if len(golden.Faults) > 0 {
				var got []string
				for _, f := range err.(*outbox.InvalidError).Events[0].Faults { //nolint:errorlint // Records says so
					got = append(got, f.String())
				}
				if diff := cmp.Diff(golden.Faults, got); diff != "" {
					t.Errorf("faults (-golden +got):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want.Lane, want.Tier, want.EventVersion, want.Producer, want.Traceparent = golden.Lane, golden.Tier, golden.Envelope.Version, golden.Envelope.Producer, ""
			got, fields := records[0].Data(), want.ProducerFields()
			delete(got, contracts.FieldCreatedAt)
			delete(fields, contracts.FieldCreatedAt)
			if diff := cmp.Diff(fields, got); diff != "" {
				t.Errorf("record (-golden +got):\n%s", diff)
			}
		})
	}
}

// Derived event IDs are the same in all languages.
func TestGoldenEventIDs(t *testing.T) {
	t.Parallel()
	type row struct {
		Outbox           string `json:"outbox"`
		EventType        string `json:"eventType"`
		EventVersion     int64  `json:"eventVersion"`
		AggregateID      string `json:"aggregateId"`
		AggregateVersion int64  `json:"aggregateVersion"`
		EventID          string `json:"eventId"`
	}
	got := []row{
		{"accOutbox", "WalletCredited", 1, "acc-1", 1, ""},
		{"accOutbox", "WalletCredited", 2, "acc-1", 1, ""},
		{"accOutbox", "WalletCredited", 1, "acc-1", 2, ""},
		{"wsOutbox", "match.accepted", 1, "價格/🙂", 9007199254740991, ""},
		{"wsOutbox", "", 1, "", 0, ""},
	}
	for i, r := range got {
		got[i].EventID = outbox.EventID(r.Outbox, r.EventType, r.EventVersion, r.AggregateID, r.AggregateVersion)
	}
	file := filepath.Join(testdata, "eventids.json")
	if *update {
		data, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want []row
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event IDs (-golden +got):\n%s", diff)
	}
}
