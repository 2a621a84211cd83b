package cost

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/ier"
)

// task is the document of Firestore's own page on sizes, in a top-level collection.
func task() map[string]any {
	return map[string]any{"type": "Personal", "done": false, "priority": int64(1), "description": "Learn Cloud Firestore"}
}

// The page has 71 bytes for these fields, and 32 for the document; the name is
// 6 and 11 for its parts and 16.
func TestDocumentSizeIsThePublishedOne(t *testing.T) {
	if got, want := documentSize("tasks", "my_task_id", task()), 71.0+32+33; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestIndexSizeIsThePublishedOne(t *testing.T) {
	only := func(fields ...string) (out []indexes.Override) {
		for _, f := range fields {
			out = append(out, indexes.Override{CollectionGroup: "tasks", FieldPath: f, Indexes: []indexes.Single{}})
		}
		return out
	}
	for _, c := range []struct {
		name string
		file indexes.File
		want float64
	}{
		// Name 33, "done" 5, its value 1, and 32; ascending and descending.
		{"one field", indexes.File{FieldOverrides: only("type", "priority", "description")}, 2 * (33 + 5 + 1 + 32)},
		{"no field", indexes.File{FieldOverrides: only("*")}, 0},
		{"a composite index", indexes.File{
			FieldOverrides: only("*"),
			Indexes:        []indexes.Composite{{CollectionGroup: "tasks", Fields: []indexes.Field{{FieldPath: "done"}, {FieldPath: "priority"}}}},
		}, 33 + 1 + 8 + 32},
		{"a composite index on a field that is not there", indexes.File{
			FieldOverrides: only("*"),
			Indexes:        []indexes.Composite{{CollectionGroup: "tasks", Fields: []indexes.Field{{FieldPath: "done"}, {FieldPath: "owner"}}}},
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := indexSize("tasks", "my_task_id", task(), c.file); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestLagSampleHasItsBytes holds bytesOfSample to samples as the sampler sends them.
func TestLagSampleHasItsBytes(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	bytes, n := 0, 0
	for _, o := range catalog.Outboxes {
		for range 50 {
			rec := catalog.Sample(r, o, "aggregate-000001", 1, time.Now())
			line, err := json.Marshal(ier.LagSample{
				At: time.Now(), Outbox: o.Name, Lane: rec.Lane, EventType: rec.EventType, Target: o.Route(rec.EventType).Targets[0], Attempt: 1,
				Outcome: ier.OutcomeAcked, LagMs: 35, FirestoreMs: 12, DeliveryMs: 21, TraceID: rec.TraceID, EventID: rec.EventID,
			})
			if err != nil {
				t.Fatal(err)
			}
			bytes += len(line) + 1
			n++
		}
	}
	if got := float64(bytes) / float64(n); math.Abs(got-bytesOfSample)/got > 0.02 {
		t.Errorf("a sample has %.0f bytes, the formula says %d", got, bytesOfSample)
	}
}
