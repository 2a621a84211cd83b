package inbox_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/outbox"
)

// deducted is the message of a deduction whose event ID a producer's end derived.
func deducted(t *testing.T, version int64, amount int64) message {
	t.Helper()
	id := outbox.EventID("accOutbox", "WalletDeducted", 1, "wallet-1", version)
	rec := &contracts.Record{
		EventID: id, EventType: "WalletDeducted", EventVersion: 1, AggregateID: "wallet-1", AggregateVersion: version, OccurredAt: time.Now(), Producer: "account",
		TraceID: "trace-1", IdempotencyKey: contracts.IdempotencyKey(id, "wallet-1", version), Payload: map[string]any{"amount": amount},
	}
	data, err := contracts.MarshalEnvelope(rec)
	if err != nil {
		t.Fatal(err)
	}
	m := contracts.NewMessage(rec, data, contracts.StandardLane, "FUNNEL", "")
	return message{m.Data, m.Attributes, id, "wallet-1", version}
}

// After a restore of the producer's Firestore its aggregates count on from an older
// version. What docs/PRODUCERS.md says of it: a consumer takes another event of a lost one's
// version for that one, silently, and those of raised versions for new ones.
func TestAfterARestoreEventsOfRaisedVersionsAlone(t *testing.T) {
	const base = 1_000_000
	box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{}))
	var amounts []int64
	deliver := func(m message) bool {
		return box.Deliver(t.Context(), m.data, m.attributes, func(_ context.Context, e *inbox.Event) error {
			var p struct{ Amount int64 }
			err := json.Unmarshal(e.Payload, &p)
			amounts = append(amounts, p.Amount)
			return err
		})
	}
	for _, tt := range []struct {
		name    string
		version int64
		handled bool
	}{
		{"before the loss", 7, true},
		{"after the restore, of the same version", 7, false},
		{"after the restore, of a raised version", base + 7, true},
		{"and the next one", base + 8, true},
	} {
		had := len(amounts)
		if ack := deliver(deducted(t, tt.version, int64(had+1))); !ack || (len(amounts) > had) != tt.handled {
			t.Errorf("%s: acknowledged %v, handled %v, want true, %v", tt.name, ack, len(amounts) > had, tt.handled)
		}
	}
}
