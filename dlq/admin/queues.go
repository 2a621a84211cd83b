package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/desk"
)

// WorkQueueList is all work queues.
type WorkQueueList struct {
	Items    []WorkQueue `json:"items" nullable:"false" doc:"None where the service has no work queues."`
	Instance string      `json:"instance,omitempty" example:"relay-7c9f" doc:"The instance that answers."`
	At       time.Time   `json:"at,omitzero" doc:"When the documents were counted: some seconds ago, or up to a minute where there are very many."`
	Warning  string      `json:"warning,omitempty" example:"Firestore cannot be reached: this is what was counted last" doc:"What is not known."`
}

// QueueItemList is one page of a queue's documents.
type QueueItemList struct {
	Items         []QueueItem `json:"items" nullable:"false"`
	NextPageToken string      `json:"nextPageToken,omitempty" doc:"For the next page."`
}

type queueItemsInput struct {
	Queue  string `path:"queue" example:"jobs" doc:"The queue's name."`
	Status string `query:"status" maxLength:"100" example:"failed" doc:"Those with this status, also one that the queue does not know; without it those of all that it knows. See GET /queues."`
	Tenant string `query:"tenant" maxLength:"1500" example:"org-1" doc:"Those of this tenant: of jobs an organization (by field orgId); of notifications clientId/condominiumId."`
	PageQuery
}

type queueItemInput struct {
	Queue string `path:"queue" example:"jobs" doc:"The queue's name."`
	ID    string `path:"id" example:"outbox/k" doc:"The document's path, percent-encoded: a / in it becomes %2F, a % becomes %25."`
}

type queueItemOutput struct {
	ETag string `header:"ETag" doc:"Of the document as it stands."`
	Body QueueItemDetail
}

type requeueInput struct {
	Queue   string `path:"queue" example:"jobs" doc:"The queue's name."`
	ID      string `path:"id" example:"outbox/k" doc:"The document's path, percent-encoded: a / in it becomes %2F, a % becomes %25."`
	IfMatch string `header:"If-Match" example:"\"1d3k\"" doc:"The ETag of what the caller looked at. The requeue is refused (412) when it was changed since."`
	Body    Why
}

type requeueOutput struct {
	ETag string `header:"ETag" doc:"Of the document as it was written."`
	Body QueueRequeued
}

// workQueues adds the operations about work queues.
func (a *api) workQueues() {
	register(a, route{
		method: http.MethodGet, path: "/queues", role: dlq.Viewer, name: "list-queues", tag: tagQueues,
		summary: "List work queues", description: "How many documents each has by status, and how the instance that answers does. All who ask within some seconds get the same counts.",
	}, a.listQueues)
	register(a, route{
		method: http.MethodGet, path: "/queues/{queue}/items", role: dlq.Viewer, name: "list-queue-items", tag: tagQueues,
		summary: "List documents of a work queue", description: "Those created last first, without what they say. One that has no createdAt, or no status, is counted, but not listed.",
		also: []int{http.StatusNotFound},
	}, a.listQueueItems)
	register(a, route{
		method: http.MethodGet, path: "/queues/{queue}/items/{id}", role: dlq.Viewer, name: "get-queue-item", tag: tagQueues,
		summary: "Look at a document of a work queue", description: "With all of it, what happened to it, and what was decided about it.",
		also: []int{http.StatusNotFound},
	}, a.getQueueItem)
	register(a, route{
		method: http.MethodPost, path: "/queues/{queue}/items/{id}/requeue", role: dlq.Operator, name: "requeue-queue-item", tag: tagQueues,
		summary: "Have a document tried again",
		description: "One that came to a bad end becomes pending again, with all its attempts, due at once. Any other is refused. " +
			"A job of which nobody knows whether it was sent may be sent twice then: warning says so.",
		also: []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
	}, a.requeue)
}

// overviews reads what GET /queues tells.
func (a *api) overviews(ctx context.Context) ([]desk.Overview, error) {
	if a.config.Queues == nil {
		return nil, nil
	}
	return a.config.Queues.Overviews(ctx)
}

// overviewsGood is how long counts are good for; see countsGood.
func overviewsGood(all []desk.Overview) time.Duration {
	var n int64
	for _, o := range all {
		n += o.Other
		for _, s := range o.Statuses {
			n += s.Count
		}
	}
	return min(5*time.Second+time.Duration(n/1000)*time.Second, time.Minute)
}

func (a *api) listQueues(ctx context.Context, _ *struct{}) (*output[WorkQueueList], error) {
	all, readAt, err := a.queues.get(ctx)
	if err != nil && readAt.IsZero() {
		return nil, err
	}
	out := &output[WorkQueueList]{WorkQueueList{Items: convert(all, workQueueOf), Instance: a.config.Status.Instance().Name}}
	for n, o := range all {
		out.Body.At = o.At
		if h, runs := a.config.Queues.Here(o.Queue); runs {
			out.Body.Items[n].Here = hereOf(h)
		}
	}
	if err != nil {
		a.config.Log.Warn("work queues cannot be counted", zap.Error(err))
		out.Body.Warning = unread(err) + ": this is what was counted last"
	}
	return out, nil
}

// workQueue returns the queues, unless there are none.
func (a *api) workQueue(name string) (Queues, error) {
	if a.config.Queues == nil {
		return nil, &dlq.Refusal{Kind: dlq.NotFound, Detail: fmt.Sprintf("there is no work queue %q", name), Hint: "serve --queues says which a service has"}
	}
	return a.config.Queues, nil
}

func (a *api) listQueueItems(ctx context.Context, in *queueItemsInput) (*output[QueueItemList], error) {
	queues, err := a.workQueue(in.Queue)
	if err != nil {
		return nil, err
	}
	page, err := queues.Items(ctx, in.Queue, desk.Filter{Status: in.Status, Tenant: in.Tenant}, in.page())
	if err != nil {
		return nil, err
	}
	return &output[QueueItemList]{QueueItemList{convert(page.Items, queueItemOf), page.Next}}, nil
}

func (a *api) getQueueItem(ctx context.Context, in *queueItemInput) (*queueItemOutput, error) {
	queues, err := a.workQueue(in.Queue)
	if err != nil {
		return nil, err
	}
	item, err := queues.QueueItem(ctx, in.Queue, in.ID)
	if err != nil {
		return nil, err
	}
	decided, err := a.config.History.Audit(ctx, dlq.AuditFilter{On: item.ID, Subject: dlq.SubjectQueueItem}, dlq.Page{})
	if err != nil {
		return nil, err
	}
	detail := QueueItemDetail{
		QueueItem: queueItemOf(item), Document: make(map[string]any, len(item.Fields)), Decisions: convert(decided.Items, entryOf),
		History: convert(item.History, func(e desk.Event) QueueEvent { return QueueEvent(e) }),
	}
	for name, v := range item.Fields {
		detail.Document[name] = plainJSON(v)
	}
	warning, refused := queues.Judge(item, actor(ctx))
	if detail.Requeue = (PossibleRequeue{Allowed: refused == nil, Warning: warning}); refused != nil {
		detail.Requeue.Why, detail.Requeue.Hint = refused.Detail, refused.Hint
	}
	return &queueItemOutput{ETag: detail.ETag, Body: detail}, nil
}

func (a *api) requeue(ctx context.Context, in *requeueInput) (*requeueOutput, error) {
	queues, err := a.workQueue(in.Queue)
	if err != nil {
		return nil, err
	}
	saw, err := seen(in.IfMatch)
	if err != nil {
		return nil, err
	}
	r, err := queues.Requeue(ctx, in.Queue, in.ID, desk.Requeue{Actor: actor(ctx), Reason: in.Body.Reason, Seen: saw})
	if err != nil {
		return nil, err
	}
	a.queues.forget()
	out := &requeueOutput{Body: QueueRequeued{queueItemOf(r.Item), entryOf(r.Entry), r.Warning}}
	out.ETag = out.Body.Item.ETag
	return out, nil
}
