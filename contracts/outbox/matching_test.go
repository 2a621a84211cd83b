package outbox_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
)

// keyed is an event of a catalog that says how aggregates and keys are made, and what
// becomes of it.
type keyed struct {
	Type             string         `json:"type"`
	AggregateVersion int64          `json:"aggregateVersion"`
	Payload          map[string]any `json:"payload"`
	Outbox           string         `json:"outbox"`
	AggregateID      string         `json:"aggregateId"`
	EventID          string         `json:"eventId"`
	IdempotencyKey   string         `json:"idempotencyKey"`
}

// Where the catalog makes aggregate and key of the payload, the producer gives
// neither: the record is sound, and the same business event is the same record,
// although its aggregate has gone on. Producers in other languages are held to the
// golden file.
func TestKeysOfTheCatalog(t *testing.T)         { keysOfTheCatalog(t, onEmbedded(t)) }
func TestKeysOfTheCatalogOnGoogle(t *testing.T) { keysOfTheCatalog(t, onGoogle(t)) }

func keysOfTheCatalog(t *testing.T, s *slice) {
	catalog, err := contracts.LoadCatalog("../catalogs/matching.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.catalog, s.Appender = catalog, outbox.New(s.client, catalog)
	var got []keyed
	for _, o := range catalog.Outboxes {
		for _, route := range o.Events {
			for _, payload := range route.Examples()[:1] {
				event := outbox.Event{Type: route.Type, AggregateVersion: int64(len(got) + 1), Payload: payload}
				results := s.mustAppend(event)
				rec, checked := s.stored(results[0].Document)
				if checked.Faults.Err() != nil || results[0].Repeated {
					t.Errorf("%s: %+v, %v", route.Type, results, checked.Faults)
				}
				got = append(got, keyed{route.Type, rec.AggregateVersion, payload, o.Name, rec.AggregateID, rec.EventID, rec.IdempotencyKey})
				event.AggregateVersion += 100 // the key says which event it is, and no other
				if results := s.mustAppend(event); !results[0].Repeated || results[0].EventID != rec.EventID {
					t.Errorf("%s again: %+v", route.Type, results)
				}
				event.AggregateID = "another"
				if _, err := s.Records(t.Context(), event); err == nil {
					t.Errorf("%s of another aggregate is accepted", route.Type)
				}
			}
		}
	}
	file := filepath.Join(testdata, "matchingkeys.json")
	data, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(data)+"\n"); diff != "" {
		t.Errorf("keys (-golden +got):\n%s", diff)
	}
}

// An event in two versions is two records, in one call or with a retry in between.
func TestVersionsSideBySide(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	const text = `
targets: {T: {kind: pubsub, topic: a-topic}}
outboxes:
  - name: box
    slice: a slice
    shards: 4
    events:
      - {type: E, version: 1, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]}
      - {type: E, version: 2, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]}
`
	catalog, err := contracts.ParseCatalog("catalog.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.catalog, s.Appender = catalog, outbox.New(s.client, catalog)
	event := outbox.Event{Type: "E", AggregateID: "a", AggregateVersion: 1, Payload: map[string]any{}}
	old := event
	old.Version = 1
	results := s.mustAppend(old, event)
	for i, version := range []int64{1, 2} {
		rec, checked := s.stored(results[i].Document)
		if results[i].Repeated || checked.Faults.Err() != nil || rec.EventVersion != version {
			t.Errorf("version %d: %+v, %v, version %d", version, results[i], checked.Faults, rec.EventVersion)
		}
	}
	if results[0].EventID == results[1].EventID {
		t.Error("both have one event ID")
	}
	if again := s.mustAppend(event, old); !again[0].Repeated || !again[1].Repeated {
		t.Errorf("again: %+v", again)
	}
}

// Consumers know events by their IDs: of two with one ID they handle the first alone.
func TestEventsThatDifferInTheirKeyAloneAreTwo(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	catalog, err := contracts.LoadCatalog("../catalogs/matching.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.catalog, s.Appender = catalog, outbox.New(s.client, catalog)
	message := maps.Clone(catalog.Outbox("chatOutbox").Route("chat.message_sent").Examples()[0])
	event := outbox.Event{Type: "chat.message_sent", Payload: message}
	first := s.mustAppend(event)[0]
	message["client_message_id"] = "00000009-1d3c-4e5f-8a9b-0c1d2e3f4a5b"
	second := s.mustAppend(event)[0]
	if first.IdempotencyKey == second.IdempotencyKey || first.EventID == second.EventID || second.Repeated {
		t.Errorf("two messages are %+v and %+v, want two events", first, second)
	}
}
