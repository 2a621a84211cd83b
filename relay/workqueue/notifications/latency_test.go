package notifications

import (
	"testing"

	"cloud.google.com/go/firestore"
)

func TestAgeWithoutCreatedAt(t *testing.T)         { ageWithoutCreatedAt(t, onEmbedded(t)) }
func TestAgeWithoutCreatedAtOnGoogle(t *testing.T) { ageWithoutCreatedAt(t, onGoogle(t)) }

// An event that does not say when it was created is as old as its document: it is no event
// that was dispatched at once.
func ageWithoutCreatedAt(t *testing.T, c *cloud) {
	f := setup(t, c)
	tenant := f.tenant("age", person{id: "ann", role: "admin"})
	for name, created := range map[string]any{"absent": firestore.Delete, "a text": "2026-01-02", "null": nil} {
		ref := f.db.Collection(tenant.Path() + "/notificationEvents").NewDoc()
		fields := eventFields(tenant, with("createdAt", created))
		if created == firestore.Delete {
			delete(fields, "createdAt")
		}
		f.set(ref, fields)
		sum, err := f.handler.attempt(t.Context(), f.claim(f.handler, ref))
		if err != nil || sum.result != Emitted || sum.latency <= 0 {
			t.Errorf("createdAt %s: %+v, %v; want it emitted at some age", name, sum, err)
		}
		snap, err := ref.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if most := snap.UpdateTime.Sub(snap.CreateTime); sum.latency > most {
			t.Errorf("createdAt %s: it was %v old, want %v at most", name, sum.latency, most)
		}
	}
}
