package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/relay/workqueue/desk"
)

func TestQueues(t *testing.T) {
	f := setup(t)
	got := read[admin.WorkQueueList](f.do("dev-viewer", http.MethodGet, "/queues", ""), http.StatusOK)
	want := []admin.WorkQueue{{
		Queue: "jobs", Collection: "outbox", OldestPending: died, OldestAgeMillis: 90_000,
		Statuses: []admin.QueueStatus{{Status: "pending", Count: 3, Open: true}, {Status: "failed", Count: 100000, AtLeast: true, Bad: true}}, Other: 2, OtherAtLeast: true,
		Here: &admin.QueueHere{
			Instance: "jobs-1", Ready: true, Waiting: 2, Later: 1, Busy: 1, Workers: 16, Listener: "alive", ListenerSince: died,
			RoundAt: died, RoundMillis: 1000, RoundFresh: 1,
		},
	}, {Queue: "notifications", Collection: "notificationEvents", Statuses: []admin.QueueStatus{}}}
	if diff := cmp.Diff(want, got.Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Instance != "relay-1" || !got.At.Equal(died.Add(90*time.Second)) || got.Warning != "" {
		t.Errorf("got %+v", got)
	}
	f.do("dev-viewer", http.MethodGet, "/queues", "")
	if n := len(f.work.asked()); n != 1 {
		t.Errorf("the desk was asked %d times for what is known, want once", n)
	}
	f.work.err = fmt.Errorf("count documents: %w", status.Error(codes.PermissionDenied, "no"))
	f.pass(2 * time.Minute)
	if got := read[admin.WorkQueueList](f.do("dev-viewer", http.MethodGet, "/queues", ""), http.StatusOK); got.Warning != "Firestore answers PermissionDenied: this is what was counted last" || len(got.Items) != 2 {
		t.Errorf("without Firestore: got %+v, want the last answer with a warning", got)
	}
}

func TestWithoutQueues(t *testing.T) {
	f := setup(t, func(c *admin.Config) { c.Queues = nil })
	a := f.do("dev-viewer", http.MethodGet, "/queues", "")
	if got := read[admin.WorkQueueList](a, http.StatusOK); len(got.Items) != 0 || got.Items == nil {
		t.Errorf("got %s, want an empty list", a.body)
	}
	for _, target := range []string{"/queues/jobs/items", "/queues/jobs/items/outbox%2Fk"} {
		f.do("dev-viewer", http.MethodGet, target, "").refused(http.StatusNotFound, `no work queue`)
	}
	f.do("dev-operator", http.MethodPost, "/queues/jobs/items/outbox%2Fk/requeue", because).refused(http.StatusNotFound, `no work queue`)
}

func TestQueueItems(t *testing.T) {
	f := setup(t)
	got := read[admin.QueueItemList](f.do("dev-viewer", http.MethodGet, "/queues/jobs/items?status=failed&tenant=client%2Fcondo&limit=7&pageToken=x", ""), http.StatusOK)
	if len(got.Items) != 1 || got.Items[0].ID != "outbox/k" || got.NextPageToken != "more" || got.Items[0].About["channel"] != "email" {
		t.Errorf("got %+v", got)
	}
	if want := (desk.Filter{Status: "failed", Tenant: "client/condo"}); f.work.queue != "jobs" || f.work.filter != want || f.work.page != (dlq.Page{Limit: 7, Token: "x"}) {
		t.Errorf("asked %s for %+v, %+v", f.work.queue, f.work.filter, f.work.page)
	}
}

func TestQueueItem(t *testing.T) {
	f := setup(t)
	id := "clients/a b/condominiums/ñ%2F/notificationEvents/e"
	a := f.do("dev-viewer", http.MethodGet, "/queues/notifications/items/"+url.PathEscape(id), "")
	got := read[admin.QueueItemDetail](a, http.StatusOK)
	if f.work.queue != "notifications" || f.work.id != id {
		t.Errorf("asked for %q of %s, want %q", f.work.id, f.work.queue, id)
	}
	if got.ETag == "" || a.header.Get("ETag") != got.ETag || len(got.Decisions) != 1 || len(got.History) != 2 {
		t.Errorf("got %+v", got)
	}
	if want := map[string]any{"status": "failed", "createdAt": "2026-03-01T10:00:00.123456Z", "payload": map[string]any{"n": 3.0}}; cmp.Diff(want, got.Document) != "" {
		t.Errorf("the document (-want +got):\n%s", cmp.Diff(want, got.Document))
	}
	if got.Requeue.Allowed || got.Requeue.Why == "" {
		t.Errorf("a viewer may: %+v", got.Requeue)
	}
	f.work.warning = "it may be sent twice"
	got = read[admin.QueueItemDetail](f.do("dev-operator", http.MethodGet, "/queues/jobs/items/outbox%2Fk", ""), http.StatusOK)
	if want := (admin.PossibleRequeue{Allowed: true, Warning: "it may be sent twice"}); got.Requeue != want {
		t.Errorf("an operator: got %+v, want %+v", got.Requeue, want)
	}
	f.work.item = nil
	f.do("dev-viewer", http.MethodGet, "/queues/jobs/items/outbox%2Fnone", "").refused(http.StatusNotFound, "there is none")
}

func TestRequeue(t *testing.T) {
	f := setup(t)
	f.work.warning = "it may be sent twice"
	tag := f.do("dev-viewer", http.MethodGet, "/queues/jobs/items/outbox%2Fk", "").header.Get("ETag")
	f.do("dev-viewer", http.MethodGet, "/queues", "")
	a := f.do("dev-operator", http.MethodPost, "/queues/jobs/items/outbox%2Fk/requeue", because, "If-Match", tag)
	got := read[admin.QueueRequeued](a, http.StatusOK)
	if got.Item.Status != "pending" || got.Warning == "" || got.Decision.ID != "decision" || got.Decision.To != "pending" || a.header.Get("ETag") != got.Item.ETag {
		t.Errorf("got %+v", got)
	}
	want := desk.Requeue{Actor: dlq.Actor{Name: "dev-operator", Role: dlq.Operator}, Reason: "because", Seen: died}
	if f.work.queue != "jobs" || f.work.id != "outbox/k" || f.work.requeue != want {
		t.Errorf("%q of %s: decided %+v, want %+v", f.work.id, f.work.queue, f.work.requeue, want)
	}
	before := len(f.work.asked())
	f.do("dev-viewer", http.MethodGet, "/queues", "")
	if len(f.work.asked()) == before {
		t.Error("the counts are those of before the decision")
	}
	f.work.refusal = &dlq.Refusal{Kind: dlq.Conflict, Detail: "it is sent already", Hint: "there is nothing to do"}
	f.do("dev-operator", http.MethodPost, "/queues/jobs/items/outbox%2Fk/requeue", because).refused(http.StatusConflict, "sent already")
	f.do("dev-operator", http.MethodPost, "/queues/jobs/items/outbox%2Fk/requeue", `{"reason":""}`).refused(http.StatusUnprocessableEntity, "reason")
	f.do("dev-operator", http.MethodPost, "/queues/jobs/items/outbox%2Fk/requeue", because, "If-Match", `"zz"x`).refused(http.StatusBadRequest, "entity tag")
}
