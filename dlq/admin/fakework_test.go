package admin_test

import (
	"context"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/desk"
)

// fakeWork is a desk with one queue and one document, which remembers what it was asked.
type fakeWork struct {
	*fakeQueue // for what every call begins with
	item       *desk.Item
	refusal    *dlq.Refusal // of a requeue
	warning    string
	queue, id  string
	filter     desk.Filter
	requeue    desk.Requeue
}

var _ admin.Queues = (*fakeWork)(nil)

func newFakeWork(q *fakeQueue) *fakeWork {
	return &fakeWork{fakeQueue: q, item: &desk.Item{
		ID: "outbox/k", Queue: "jobs", Tenant: "org-1", Status: "failed", Attempts: 1, Most: 5, About: map[string]string{"channel": "email"},
		CreatedAt: died, UpdatedAt: died, Owner: "jobs-1/2", LastError: "nobody can know", LastErrorCode: "MAYBE_SENT",
		Fields:  map[string]any{"status": "failed", "createdAt": died, "payload": map[string]any{"n": int64(3)}},
		History: []desk.Event{{At: died, Kind: desk.EventCreated, Text: "created"}, {Kind: desk.EventClosed, Text: "failed"}},
	}}
}

func (w *fakeWork) Overviews(ctx context.Context) ([]desk.Overview, error) {
	return []desk.Overview{{
		Queue: "jobs", Collection: "outbox", Oldest: died, At: died.Add(90 * time.Second),
		Statuses: []desk.StatusCount{{Status: "pending", Count: 3, Open: true}, {Status: "failed", Count: 100000, AtLeast: true, Requeues: true}}, Other: 2, OtherAtLeast: true,
	}, {Queue: "notifications", Collection: "notificationEvents", At: died.Add(90 * time.Second)}}, w.begin(ctx, "Overviews")
}

func (w *fakeWork) Here(queue string) (workqueue.Health, bool) {
	return workqueue.Health{
		Queue: queue, Instance: "jobs-1", Waiting: 2, Later: 1, Busy: 1, Workers: 16, Listener: workqueue.ListenerHealth{State: workqueue.ListenerAlive, Since: died},
		Round: workqueue.RoundHealth{At: died, Took: time.Second, Fresh: 1},
	}, queue == "jobs"
}

func (w *fakeWork) Items(ctx context.Context, queue string, f desk.Filter, p dlq.Page) (dlq.Paged[*desk.Item], error) {
	w.queue, w.filter, w.page = queue, f, p
	return dlq.Paged[*desk.Item]{Items: []*desk.Item{w.item}, Next: "more"}, w.begin(ctx, "Items")
}

func (w *fakeWork) QueueItem(ctx context.Context, queue, id string) (*desk.Item, error) {
	w.queue, w.id = queue, id
	if w.item == nil {
		return nil, &dlq.Refusal{Kind: dlq.NotFound, Detail: "there is none"}
	}
	return w.item, w.begin(ctx, "QueueItem")
}

func (w *fakeWork) Judge(_ *desk.Item, by dlq.Actor) (string, *dlq.Refusal) {
	if by.Role < dlq.Operator {
		return "", &dlq.Refusal{Kind: dlq.Forbidden, Detail: "needs the role operator", Hint: "ask"}
	}
	return w.warning, w.refusal
}

func (w *fakeWork) Requeue(ctx context.Context, queue, id string, r desk.Requeue) (*desk.Requeued, error) {
	w.queue, w.id, w.requeue = queue, id, r
	if err := w.begin(ctx, "Requeue"); err != nil {
		return nil, err
	}
	if w.refusal != nil {
		return nil, w.refusal
	}
	now := *w.item
	now.Status, now.Attempts, now.UpdatedAt = "pending", 0, died.Add(time.Second)
	return &desk.Requeued{Item: &now, Warning: w.warning, Entry: &dlq.Entry{
		ID: "decision", At: now.UpdatedAt, Actor: r.Actor.Name, Role: r.Actor.Role, Action: "requeue", Subject: dlq.SubjectQueueItem, On: id,
		From: "failed", To: "pending", Reason: r.Reason,
	}}, nil
}
