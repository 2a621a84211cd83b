package lease

import (
	"testing"
	"time"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// The dead-letter queue reads from the leases what instances with another catalog relay.
func TestQueueSeesWhatIsRelayed(t *testing.T) {
	t.Parallel()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	store := dlqfirestore.New(firestoretest.Client(t, address))
	w := newWorld(t, store, 3*time.Second, "a", "b", "c")
	a := w.start("A")
	w.until("A owns all", func() bool { return w.shared(a) })
	q, err := dlq.New(dlq.Config{Store: store, Catalog: &contracts.Catalog{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range w.shares {
		if relayed, err := q.Relayed(t.Context(), share); !relayed || err != nil {
			t.Errorf("%s: relayed is %t, %v", share, relayed, err)
		}
	}
	if relayed, err := q.Relayed(t.Context(), "elsewhere"); relayed || err != nil {
		t.Errorf("what nobody relays: relayed is %t, %v", relayed, err)
	}
}
