package console_test

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"outboxrelay/dlq/console"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/desk"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

// work is the work queues of a fixture, at which nobody works but the test, and one bell.
type work struct {
	f    *fixture
	desk *desk.Desk

	mu     sync.Mutex
	health workqueue.Health // of the queue of jobs
	notes  []console.Note
}

func newWork(f *fixture) *work {
	f.t.Helper()
	w := &work{f: f, health: workqueue.Health{
		Queue: "jobs", Instance: "jobs-1f3a9c02", Workers: 16, Busy: 1, Waiting: 2, Later: 3, Listener: workqueue.ListenerHealth{State: workqueue.ListenerAlive, Since: time.Now().Add(-time.Hour)},
		Round: workqueue.RoundHealth{At: time.Now(), Took: 15 * time.Millisecond},
	}}
	events, err := notifications.New(f.db.Client, notifications.Default(), nil, nil)
	f.must(err)
	w.desk, err = desk.New(desk.Config{Client: f.db.Client, Views: []desk.View{events.View(), jobs.View()}, Here: map[string]desk.Instance{"jobs": w}})
	f.must(err)
	return w
}

// Health is how the instance does with the queue of jobs.
func (w *work) Health() workqueue.Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.health
}

func (w *work) set(change func(*workqueue.Health)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.health)
}

// People are those with a bell.
func (w *work) People(context.Context) ([]console.Person, error) {
	return []console.Person{{ID: "c/k/ana", Name: "ana (c/k)"}, {ID: "c/k/ben", Name: "ben (c/k)"}}, nil
}

// Bell is ana's; ben's is empty.
func (w *work) Bell(_ context.Context, id string) (*console.Bell, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id != "c/k/ana" {
		return &console.Bell{}, nil
	}
	return &console.Bell{Unread: len(w.notes), Notes: w.notes}, nil
}

// ring puts a notification into ana's bell.
func (w *work) ring(title, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := console.Note{ID: uuid.NewString(), Title: title, Body: body, About: "maintenance", At: time.Now(), Event: "clients/c/condominiums/k/notificationEvents/e"}
	w.notes = append([]console.Note{n}, w.notes...)
}

// job writes a job of an organization and returns its path.
func (w *work) job(org, status string, change map[string]any) string {
	path := fmt.Sprintf("outbox/notification_dispatch:%s:matter.created:matter:%s:bob:email:matter-created", org, uuid.NewString()[:8])
	return w.write(path, map[string]any{
		"orgId": org, "eventId": "e-1", "jobType": "notification_dispatch", "status": status, "attempts": 1, "maxAttempts": 5, "nextAttemptAt": time.Now(),
		"lockOwner": "jobs-1f3a9c02/2", "createdAt": time.Now(), "eventType": "matter.created", "entityType": "matter", "entityId": "m-1", "recipientId": "bob",
		"channel": "email", "templateId": "matter-created", "payload": map[string]any{"title": "A matter"},
	}, change)
}

// event writes a notification's event and returns its path.
func (w *work) event(status string, change map[string]any) string {
	return w.write("clients/c/condominiums/k/notificationEvents/"+uuid.NewString()[:8], map[string]any{
		"eventType": "maintenance.ticket_created", "module": "maintenance", "title": "Fuga", "body": "Se registró", "dedupeKey": "k", "channels": []any{"in_app"},
		"audience": map[string]any{"scope": "admins"}, "createdAt": time.Now(), "createdBy": "uid", "status": status, "clientId": "c", "condominiumId": "k", "attempts": 5,
	}, change)
}

func (w *work) write(path string, fields, change map[string]any) string {
	w.f.t.Helper()
	maps.Copy(fields, change)
	_, err := w.f.db.Client.Doc(path).Set(context.Background(), fields)
	w.f.must(err)
	return path
}

func (w *work) statusOf(path string) any {
	w.f.t.Helper()
	snap, err := w.f.db.Client.Doc(path).Get(w.f.t.Context())
	w.f.must(err)
	return snap.Data()["status"]
}

func jobPath(path string) string { return "/queues/jobs/items/" + url.PathEscape(path) }
