package outbox_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testdata is what producers in all languages are held to.
const testdata = "../testdata"

// A record of the golden files, said as an event, makes the same record; one that
// breaks the contract is refused with the same faults.
func TestGoldenRecordsAreWhatIsAppended(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	for name, golden := range goldenFiles(t, "golden") {
		if strings.Contains(name, "invalid-missing") || strings.Contains(name, "invalid-null") || strings.Contains(name, "invalid-mistyped") ||
			strings.Contains(name, "invalid-lane") || strings.Contains(name, "invalid-idempotency") || strings.Contains(name, "shard-of-no-use") {
			continue // what no producer with a catalog writes
		}
		t.Run(name, func(t *testing.T) {
			want := golden.record(t)
			records, err := s.Records(t.Context(), said(want))
			if golden.refuses(t, err) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			golden.compare(t, want, records[0].Data())
		})
	}
}

// The documents of the matching catalog are those of its golden files, to which
// producers in other languages are held as well.
func TestMatchingGoldenDocuments(t *testing.T) {
	t.Parallel()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	matchingGoldenDocuments(t, address)
}

func TestMatchingGoldenDocumentsOnGoogle(t *testing.T) {
	matchingGoldenDocuments(t, firestoretest.OnGoogle(t))
}

func matchingGoldenDocuments(t *testing.T, address string) {
	catalog, err := contracts.LoadCatalog("../catalogs/matching.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, golden := range goldenFiles(t, "matching") {
		if strings.Contains(name, "invalid-default-key") {
			continue // what no producer with a catalog writes
		}
		t.Run(name, func(t *testing.T) {
			s := at(t, address) // a project of its own: some have one key
			s.catalog, s.Appender = catalog, outbox.New(s.client, catalog)
			want := golden.record(t)
			results, err := s.append(t.Context(), said(want))
			if golden.refuses(t, err) {
				if n := s.records(golden.Outbox) + int(s.written()); n != 0 {
					t.Errorf("%d documents are written", n)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if id := results[0].Document.ID; id != contracts.DocumentID(want.IdempotencyKey) || results[0].Document.Parent.ID != golden.Outbox {
				t.Errorf("appended as %s", results[0].Document.Path)
			}
			doc, err := results[0].Document.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			created, _ := doc.Data()[contracts.FieldCreatedAt].(time.Time)
			if apart := doc.CreateTime.Sub(created).Abs(); apart > time.Second { // a transform keeps milliseconds
				t.Errorf("createdAt is %v, want the server's %v", created, doc.CreateTime)
			}
			golden.compare(t, want, doc.Data())
		})
	}
}

// golden is a golden file, as far as an append has to do with it.
type golden struct {
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

// goldenFiles reads the golden files of a directory, by name.
func goldenFiles(t *testing.T, dir string) map[string]golden {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("golden files: %v, %v", files, err)
	}
	out := map[string]golden{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(data, &g); err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = g
	}
	return out
}

func (g golden) record(t *testing.T) *contracts.Record {
	t.Helper()
	rec, _, err := contracts.DecodeJSON(g.Outbox, "", g.Record)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// said is what a producer would say to have such a record.
func said(r *contracts.Record) outbox.Event {
	return outbox.Event{
		Outbox: r.Outbox, Type: r.EventType, Version: r.EventVersion, AggregateType: r.AggregateType, AggregateID: r.AggregateID,
		AggregateVersion: r.AggregateVersion, EventID: r.EventID, OccurredAt: r.OccurredAt, TraceID: r.TraceID, Payload: r.Payload,
	}
}

// refuses reports whether the record breaks the contract, and holds the error of its append
// to the file's faults.
func (g golden) refuses(t *testing.T, err error) bool {
	t.Helper()
	if len(g.Faults) == 0 {
		return false
	}
	var invalid *outbox.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error = %v, want one of %q", err, g.Faults)
	}
	var got []string
	for _, f := range invalid.Events[0].Faults {
		got = append(got, f.String())
	}
	if diff := cmp.Diff(g.Faults, got); diff != "" {
		t.Errorf("faults (-golden +got):\n%s", diff)
	}
	return true
}

// compare holds the fields that were appended to the record: all but the time of the
// append, and the span, which is the context's.
func (g golden) compare(t *testing.T, want *contracts.Record, got map[string]any) {
	t.Helper()
	want.Lane, want.Tier, want.EventVersion, want.Producer, want.Traceparent = g.Lane, g.Tier, g.Envelope.Version, g.Envelope.Producer, ""
	fields := want.ProducerFields()
	delete(got, contracts.FieldCreatedAt)
	delete(fields, contracts.FieldCreatedAt)
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("record (-golden +got):\n%s", diff)
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
		Key              string `json:"key,omitempty"`
		EventID          string `json:"eventId"`
	}
	got := []row{
		{"accOutbox", "WalletCredited", 1, "acc-1", 1, "", ""},
		{"accOutbox", "WalletCredited", 2, "acc-1", 1, "", ""},
		{"accOutbox", "WalletCredited", 1, "acc-1", 2, "", ""},
		{"wsOutbox", "match.accepted", 1, "價格/🙂", 9007199254740991, "", ""},
		{"wsOutbox", "", 1, "", 0, "", ""},
		{"chatOutbox", "chat.message_sent", 1, "", 0, "m-1:c-1", ""},
	}
	for i, r := range got {
		got[i].EventID = outbox.EventID(r.Outbox, r.EventType, r.EventVersion, r.AggregateID, r.AggregateVersion)
		if r.Key != "" {
			got[i].EventID = outbox.EventIDOfKey(r.Outbox, r.EventType, r.EventVersion, r.Key)
		}
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
