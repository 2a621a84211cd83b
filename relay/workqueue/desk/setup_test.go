package desk_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/deploy/firestore/indexes"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/desk"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

var (
	operator = dlq.Actor{Name: "olga@example.com", Role: dlq.Operator}
	viewer   = dlq.Actor{Name: "vera@example.com", Role: dlq.Viewer}
)

// rig is a Firestore with a desk on it, at which nobody works but the test.
type rig struct {
	*desk.Desk
	t  *testing.T
	db *firestore.Client
	// server is nil on Google's emulator.
	server *localfirestore.Server
}

// onEmbedded is an embedded Firestore, which has the indexes that the queues declare and no others.
func onEmbedded(t *testing.T) *rig {
	t.Helper()
	events, ofJobs := notifications.Indexes(), jobs.View().Vocabulary
	declared := ofJobs.Indexes()
	declared.Indexes = append(declared.Indexes, events.Indexes...)
	declared.FieldOverrides = append(declared.FieldOverrides, events.FieldOverrides...)
	for _, collection := range []string{"outbox", "notificationEvents"} { // nobody counts on what a deployment may exempt
		declared.FieldOverrides = append(declared.FieldOverrides, indexes.Override{CollectionGroup: collection, FieldPath: "createdAt", Indexes: []indexes.Single{}})
	}
	server, address := firestoretest.Start(t, localfirestore.Options{Indexes: &declared})
	r := newRig(t, firestoretest.Client(t, address).Client)
	r.server = server
	return r
}

func onGoogle(t *testing.T) *rig {
	t.Helper()
	return newRig(t, firestoretest.Client(t, firestoretest.OnGoogle(t)).Client)
}

func newRig(t *testing.T, db *firestore.Client) *rig {
	t.Helper()
	r := &rig{t: t, db: db}
	r.Desk = r.desk(db)
	return r
}

func (r *rig) desk(db *firestore.Client) *desk.Desk {
	r.t.Helper()
	events, err := notifications.New(db, notifications.Default(), nil, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	d, err := desk.New(desk.Config{Client: db, Views: []desk.View{events.View(), jobs.View()}})
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// began is when the oldest document of a test was created.
var began = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// job writes a job of an organization, so many seconds after began, and returns its path.
func (r *rig) job(org, status string, second int, change map[string]any) string {
	path := fmt.Sprintf("outbox/notification_dispatch:%s:matter.created:matter:%s:bob:email:matter-created", org, uuid.NewString()[:8])
	return r.set(path, map[string]any{
		"id": path, "orgId": org, "eventId": "e-1", "jobType": "notification_dispatch", "status": status, "attempts": 1, "maxAttempts": 5,
		"nextAttemptAt": began, "lockedAt": nil, "lockOwner": "jobs-1/2", "lastError": nil, "createdAt": began.Add(time.Duration(second) * time.Second),
		"eventType": "matter.created", "entityType": "matter", "entityId": "m", "recipientId": "bob", "channel": "email", "templateId": "matter-created",
	}, change)
}

// event writes a notification's event of a tenant, and returns its path.
func (r *rig) event(tenant notifications.Tenant, status string, second int, change map[string]any) string {
	return r.set(tenant.Path()+"/notificationEvents/"+uuid.NewString()[:8], map[string]any{
		"eventType": "maintenance.ticket_created", "module": "maintenance", "title": "Fuga", "body": "Se registró", "dedupeKey": "k", "channels": []any{"in_app"},
		"audience": map[string]any{"scope": "admins"}, "createdAt": began.Add(time.Duration(second) * time.Second), "createdBy": "uid", "status": status,
		"clientId": tenant.ClientID, "condominiumId": tenant.CondominiumID, "attempts": 5, "lockUntil": nil, "workerId": "w/1",
	}, change)
}

func (r *rig) set(path string, fields, change map[string]any) string {
	r.t.Helper()
	maps.Copy(fields, change)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == firestore.Delete })
	if _, err := r.db.Doc(path).Set(context.Background(), fields); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *rig) fields(path string) map[string]any {
	r.t.Helper()
	snap, err := r.db.Doc(path).Get(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return snap.Data()
}

// audit reads the entries about a document.
func (r *rig) audit(path string) (out []map[string]any) {
	r.t.Helper()
	docs, err := r.db.Collection(contracts.CollectionAudit).Where(dlq.AuditFieldOn, "==", path).Documents(r.t.Context()).GetAll()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range docs {
		out = append(out, d.Data())
	}
	return out
}

func refused(t *testing.T, err error, kind dlq.RefusalKind) *dlq.Refusal {
	t.Helper()
	r := dlq.AsRefusal(err)
	if r == nil || r.Kind != kind {
		t.Fatalf("got %v, want a refusal of kind %s", err, kind)
	}
	return r
}
