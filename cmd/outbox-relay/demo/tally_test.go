package demo_test

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/contracts/outbox"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/poll"
	"outboxrelay/relay/workqueue/notifications"
)

// What an earlier run left in a data directory is not this run's: neither is it told of as its
// own, nor is this run over before its own samples are.
func TestTheTallyIsOfThisRunsSamples(t *testing.T) {
	declared := notifications.Indexes()
	_, address := firestoretest.Start(t, localfirestore.Options{Indexes: &declared})
	db := firestoretest.Client(t, address).Client
	const events = "clients/acme/condominiums/palms/" + notifications.CollectionEvents
	for _, id := range []string{"00000000-0", "ffffffff-0"} {
		for path, fields := range map[string]map[string]any{
			events + "/" + id: {"status": notifications.StatusEmitted},
			outbox.Jobs + "/notification:acme:matter.created:matter:" + id + ":ben:in_app:x": {"status": outbox.JobSent},
		} {
			if _, err := db.Doc(path).Set(t.Context(), fields); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	tenants := &demo.Tenants{Client: db, Count: 1}
	go func() { ended <- tenants.Run(ctx) }()
	defer func() {
		stop()
		<-ended
	}()

	until(t, "the sample is counted", func() bool { return tenants.Tally().Events == 1 })
	if got := tenants.Tally(); got.Complete || got.Dispatched != 0 || got.Sent != 0 {
		t.Errorf("with nothing done of it: got %+v", got)
	}
	finish(t, db.Collection(events).Where("status", "==", notifications.StatusPending), notifications.StatusEmitted)
	finish(t, db.Collection(outbox.Jobs).Where("status", "==", outbox.JobPending), outbox.JobSent)
	until(t, "all is done", func() bool { return tenants.Tally().Complete })
	if got, want := tenants.Tally().String(), "notifications 1 of 1 dispatched, 0 in bells; jobs 1 of 1 sent"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !poll.True(time.Minute, 10*time.Millisecond, ok) {
		t.Fatalf("a minute has passed, and not yet: %s", what)
	}
}

// finish gives a status to what is found.
func finish(t *testing.T, found firestore.Query, status string) {
	t.Helper()
	docs, err := found.Documents(t.Context()).GetAll()
	if err != nil || len(docs) != 1 {
		t.Fatalf("got %d documents, %v, want 1", len(docs), err)
	}
	if _, err := docs[0].Ref.Update(t.Context(), []firestore.Update{{Path: "status", Value: status}}); err != nil {
		t.Fatal(err)
	}
}
