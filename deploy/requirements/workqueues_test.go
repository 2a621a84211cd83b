package requirements_test

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts/outbox"
	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/desk"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

// patience is how long a test waits for what should come.
const patience = 2 * time.Minute

// askWorkQueues makes every query of the work queues, and of those whom they write to.
func askWorkQueues(t *testing.T, db *firestore.Client) {
	t.Helper()
	tenant := notifications.Tenant{ClientID: "c", CondominiumID: "d"}
	job := db.Collection(outbox.Jobs).Doc("notification_dispatch:o:matter.created:matter:m:ann:in_app:t")
	event := db.Doc(tenant.Path() + "/" + notifications.CollectionEvents + "/e")
	put := func(ref *firestore.DocumentRef, fields map[string]any) {
		t.Helper()
		fields["createdAt"] = firestore.ServerTimestamp
		if _, err := ref.Create(t.Context(), fields); err != nil {
			t.Fatal(err)
		}
	}
	put(db.Doc(tenant.Path()+"/users/ann"), map[string]any{"role": "admin"})
	put(job, map[string]any{"status": outbox.JobPending, "eventId": "e", "channel": "in_app", "orgId": "o", "recipientId": "ann", "templateId": "t"})
	put(event, map[string]any{
		"status": notifications.StatusPending, "channels": []any{"in_app"}, "dedupeKey": "k", "createdBy": "bob",
		"clientId": "c", "condominiumId": "d", "audience": map[string]any{"scope": string(notifications.Admins)},
	})
	events, err := notifications.New(db, notifications.Default(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ofJobs := workqueue.Config{Client: db, Vocabulary: jobs.Vocabulary(), Handler: jobs.NewHandler(db, jobs.Templates{}, map[string]jobs.Channel{"in_app": jobs.NewInApp(db)})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for _, cfg := range []workqueue.Config{ofJobs, events.Config()} {
		q, err := workqueue.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- q.Run(ctx) }() // ends with ctx
	}
	awaitStatus(t, job, outbox.JobDead) // there is no domain event
	awaitStatus(t, event, notifications.StatusEmitted)
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("run a queue: %v", err)
		}
	}
	for what, q := range map[string]firestore.Query{
		"the messages of a recipient":    db.Collection(jobs.InAppMessages).Where("recipientId", "==", "ann").OrderBy("createdAt", firestore.Desc),
		"the bell of a person":           db.Collection(tenant.Path()+"/users/ann/"+notifications.CollectionBells).OrderBy("createdAt", firestore.Desc),
		"what is unread in it":           db.Collection(tenant.Path()+"/users/ann/"+notifications.CollectionBells).Where("read", "==", false),
		"jobs that a person looks after": db.Collection(outbox.Jobs).Where("status", "in", []string{outbox.JobFailed, outbox.JobDead}),
		"jobs of a strange status":       db.Collection(outbox.Jobs).Where("status", "not-in", []string{outbox.JobPending, outbox.JobProcessing, outbox.JobSent, outbox.JobFailed, outbox.JobDead}),
		"events of a strange status":     db.CollectionGroup(notifications.CollectionEvents).Where("status", "not-in", []string{notifications.StatusPending, notifications.StatusFailed}),
		"jobs of a type":                 db.Collection(outbox.Jobs).Where("status", "==", outbox.JobDead).Where("jobType", "==", outbox.NotificationDispatch),
		"people by the contract":         db.Collection(tenant.Path()+"/users").Where("role", "==", "admin").OrderBy("active", firestore.Asc),
		"events by the contract": db.Collection(tenant.Path()+"/"+notifications.CollectionEvents).Where("status", "==", notifications.StatusPending).
			OrderBy("nextRetryAt", firestore.Asc).OrderBy("lockUntil", firestore.Asc).OrderBy("createdAt", firestore.Asc),
		"failed events of all tenants": db.CollectionGroup(notifications.CollectionEvents).Where("status", "==", notifications.StatusFailed),
	} {
		if _, err := q.Documents(t.Context()).GetAll(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	looks, err := desk.New(desk.Config{Client: db, Views: []desk.View{jobs.View(), events.View()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := looks.Overviews(t.Context()); err != nil {
		t.Errorf("the queues as a whole: %v", err)
	}
	for queue, tenant := range map[string]string{"jobs": "o", notifications.Queue: tenant.String()} {
		for _, f := range []desk.Filter{{}, {Status: "processing"}, {Tenant: tenant}, {Tenant: tenant, Status: "failed"}} {
			if _, err := looks.Items(t.Context(), queue, f, dlq.Page{}); err != nil {
				t.Errorf("documents of %s, %+v: %v", queue, f, err)
			}
		}
	}
	if _, err := notifications.Hours(t.Context(), db, tenant, time.Now().Add(-time.Hour), time.Now()); err != nil {
		t.Error(err)
	}
}

// awaitStatus listens to a document until it has that status.
func awaitStatus(t *testing.T, ref *firestore.DocumentRef, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	it := ref.Snapshots(ctx)
	defer it.Stop()
	for {
		snap, err := it.Next()
		if err != nil {
			t.Fatalf("%s is not %s in time: %v", ref.Path, want, err)
		}
		if snap.Data()["status"] == want {
			return
		}
	}
}
