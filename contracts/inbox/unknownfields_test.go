package inbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// Fields that the envelope does not have are accepted, and are none of its fields, also where their names differ
// in case alone: what was judged and claimed is what the handler gets.
func TestUnknownFieldsAreNotTheEnvelopes(t *testing.T) {
	catalog, err := defaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	m := event(t, "acc-1", 1)
	var want contracts.Envelope
	if err := json.Unmarshal(m.data, &want); err != nil {
		t.Fatal(err)
	}
	for name, field := range map[string]string{
		"another name":    `"region":"tw"`,
		"another payload": `"Payload":{"xp":1000000}`,
		"another event":   `"EVENT_ID":"0b0e2a52-4f0b-4b0e-9d5c-000000000001"`,
		"another type":    `"aggregate_Version":"first"`,
		"another letter":  `"idempotency_\u212aey":"kelvin"`,
	} {
		t.Run(name, func(t *testing.T) {
			var got contracts.Envelope
			var dead graveyard
			box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{Catalog: catalog, DeadLetters: &dead}))
			data := append(bytes.TrimSuffix(bytes.Clone(m.data), []byte("}")), ","+field+"}"...)
			ack := box.Deliver(t.Context(), data, m.attributes, func(_ context.Context, e *inbox.Event) error {
				got = e.Envelope
				return nil
			})
			if letters := dead.all(); !ack || len(letters) != 0 {
				t.Fatalf("acknowledged is %v, and buried are %d events, want it handled", ack, len(letters))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("the handler has another event than was judged:", diff)
			}
		})
	}
}
