package demo_test

import (
	"context"
	"testing"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

// A stop that meets the look for a dead letter is no failure of the run.
func TestTroubleThatIsStoppedIsNoFailure(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	server, address := firestoretest.Start(t, localfirestore.Options{})
	server.Faults().Add(localfirestore.Fault{Method: "BatchGetDocuments", Collection: contracts.CollectionDeadLetters, Stall: true})
	m := demo.Troublemaker{Client: firestoretest.Client(t, address).Client, Ledger: demo.NewLedger()}
	for _, trouble := range demo.Plan(catalog, 7, "FUNNEL") {
		if trouble.Account() != "" { // no topic has to refuse it
			m.Troubles = append(m.Troubles, trouble)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	until(t, "its dead letter is looked for", func() bool { return server.Faults().List()[0].Hit == len(m.Troubles) })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopped, it ends with %v", err)
	}
	if m.Made() {
		t.Error("a trouble that was stopped counts as made")
	}
}
