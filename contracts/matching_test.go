package contracts

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func matchingCatalog(t *testing.T) *Catalog {
	t.Helper()
	cat, err := LoadCatalog(filepath.Join("catalogs", "matching.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestMatchingCatalogIsTheContract(t *testing.T) {
	cat := matchingCatalog(t)
	if len(cat.Warnings) > 0 {
		t.Errorf("warnings %q", cat.Warnings)
	}
	roundTripIn(t, cat, layered{os.DirFS("catalogs"), embedded})
	var got []string
	for _, o := range cat.Outboxes {
		for _, e := range o.Events {
			got = append(got, fmt.Sprintf("%s %s %s v%d %s by %s to %s", o.Name, o.Slice, e.Type, e.Version, e.Key, e.Aggregate, strings.Join(e.Consumers, " ")))
			if e.Schema == nil {
				t.Errorf("%s has no schema", e.Type)
			}
		}
	}
	want := []string{
		"matchingOutbox matching match.offer_generated v1 {payload.batch_date}:{payload.user_id}:{payload.offer_type} by {payload.user_id} to analytics notifications",
		"matchingOutbox matching match.accepted v1 {payload.offer_id}:{payload.actor_user_id}:accepted by {payload.match_id} to analytics chat notifications",
		"chatOutbox chat chat.message_sent v1 {payload.match_id}:{payload.client_message_id} by {payload.match_id} to analytics notifications trust_safety",
		"trustSafetyOutbox trust_safety safety.report_submitted v1 {payload.report_id}:submitted by {payload.match_id} to analytics trust_safety",
		"trustSafetyOutbox trust_safety safety.moderation_decided v1 {payload.decision_id}:decided by {payload.subject_user_id} to auth chat matching",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMatchingExamplesFitTheirSchemas(t *testing.T) {
	for _, o := range matchingCatalog(t).Outboxes {
		for _, e := range o.Events {
			examples := e.Examples()
			if len(examples) == 0 {
				t.Errorf("%s has no example", e.Type)
			}
			for i, payload := range examples {
				if faults := schemaFaults(e.Schema, payload); len(faults) > 0 {
					t.Errorf("%s, example %d: %v", e.Type, i, faults)
				}
			}
		}
	}
}

func TestMatchingSamples(t *testing.T) {
	cat := matchingCatalog(t)
	r := rand.New(rand.NewPCG(3, 4))
	keys := make(map[string]bool)
	for _, o := range cat.Outboxes {
		for a := range 3 {
			aggregate := SampleAggregate(o, fmt.Sprintf("%s-%d", o.Name, a))
			if aggregate != SampleAggregate(o, fmt.Sprintf("%s-%d", o.Name, a)) {
				t.Error("an aggregate's ID is another each time")
			}
			for version := range int64(200) {
				rec := cat.Sample(r, o, aggregate, version, sampleTime)
				if checked := cat.Check(rec, nil); len(checked.Faults) > 0 {
					t.Fatalf("%s: %v of %v", rec.EventType, checked.Faults, rec.Payload)
				}
				if keys[rec.IdempotencyKey] {
					t.Fatalf("%s: the key %s comes twice", rec.EventType, rec.IdempotencyKey)
				}
				keys[rec.IdempotencyKey] = true
			}
		}
	}
	o := defaultCatalog(t).Outboxes[0]
	if got := SampleAggregate(o, "plain name"); got != "plain name" {
		t.Errorf("an outbox that takes any aggregate has %q", got)
	}
}

// TestMatchingGolden holds the matching catalog's records against
// testdata/matching, which producers and consumers in other languages read too.
func TestMatchingGolden(t *testing.T) {
	cat := matchingCatalog(t)
	records := make(map[string][]byte)
	add := func(name string, fields map[string]any) {
		data, err := jsonOf(fields)
		if err != nil {
			t.Fatal(err)
		}
		records[name] = data
	}
	sound := make(map[string]map[string]any)
	for _, o := range cat.Outboxes {
		for _, e := range o.Events {
			seed := uint64(len(records) + 1)
			rec := sampleOf(rand.New(rand.NewPCG(seed, seed)), o, e, SampleAggregate(o, "aggregate-1"), int64(seed), sampleTime)
			sound[e.Type] = rec.ProducerFields()
			add(o.Name+"."+e.Type, sound[e.Type])
		}
	}
	for _, c := range []struct {
		name, eventType string
		change, payload map[string]any
	}{
		{"matchingOutbox.invalid-default-key", "match.offer_generated", map[string]any{"idempotencyKey": "0b0e2a52-4f0b-4b0e-9d5c-1f6f6f1a2b3c:u:1"}, nil},
		{"matchingOutbox.invalid-aggregate", "match.accepted", map[string]any{"aggregateId": "another"}, nil},
		{"matchingOutbox.invalid-version", "match.accepted", map[string]any{"eventVersion": int64(2)}, nil},
		{"matchingOutbox.invalid-offer-type", "match.offer_generated", nil, map[string]any{"offer_type": "weekly"}},
		{"matchingOutbox.unknown-property", "match.accepted", nil, map[string]any{"source": "a property of tomorrow"}},
		{"chatOutbox.invalid-missing", "chat.message_sent", nil, map[string]any{"client_message_id": gone, "match_id": gone}},
		{"trustSafetyOutbox.invalid-null", "safety.moderation_decided", nil, map[string]any{"effective_at": nil}},
		{"trustSafetyOutbox.without-end", "safety.moderation_decided", nil, map[string]any{"expires_at": nil}},
	} {
		payload, _ := sound[c.eventType]["payload"].(map[string]any)
		add(c.name, changed(changed(sound[c.eventType], c.change), map[string]any{"payload": changed(payload, c.payload)}))
	}
	compareGolden(t, cat, filepath.Join("testdata", "matching"), records)
}
