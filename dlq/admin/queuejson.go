package admin

import (
	"time"

	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/desk"
)

// WorkQueue is one work queue as a whole.
type WorkQueue struct {
	Queue           string        `json:"queue" example:"jobs"`
	Collection      string        `json:"collection" example:"outbox" doc:"The ID of its documents' collection, or of all collections of that ID."`
	Statuses        []QueueStatus `json:"statuses" nullable:"false" doc:"Every status that the queue knows, in the order of a document's way."`
	Other           int64         `json:"other" doc:"Documents whose status is another one, or that have none: nobody will ever act on them."`
	OtherAtLeast    bool          `json:"otherAtLeast,omitempty" doc:"There may be more: one of the counts stopped, and then those that have no status are not counted."`
	OldestPending   time.Time     `json:"oldestPending,omitzero" doc:"When the oldest of the pending documents was created; left out where there is none."`
	OldestAgeMillis int64         `json:"oldestAgeMillis" example:"1500" doc:"How old that is; 0 where there is none."`
	Here            *QueueHere    `json:"here,omitempty" doc:"How the instance that answers does; left out where it does not run the queue."`
}

// QueueStatus is how many documents have a status.
type QueueStatus struct {
	Status  string `json:"status" example:"pending"`
	Count   int64  `json:"count" example:"12" doc:"At most 100000."`
	AtLeast bool   `json:"atLeast,omitempty" doc:"The count stopped there: there may be more."`
	Open    bool   `json:"open" doc:"Somebody will act on them."`
	Bad     bool   `json:"bad" doc:"They came to a bad end: a person may have them tried again."`
}

// QueueHere is how the instance that answers does with a queue.
type QueueHere struct {
	Instance       string    `json:"instance" example:"notif-worker-1f3a9c02" doc:"Begins the owner of what it claims."`
	Ready          bool      `json:"ready" doc:"Its listener is alive, and its last round went well."`
	Waiting        int       `json:"waiting" doc:"Documents that wait for one of its workers."`
	Later          int       `json:"later" doc:"Documents that it knows of and that are due later."`
	Busy           int       `json:"busy" doc:"Documents that a worker has."`
	Workers        int       `json:"workers" example:"16"`
	Listener       string    `json:"listener" enum:"starting,alive,rebuilding"`
	ListenerSince  time.Time `json:"listenerSince,omitzero"`
	Rebuilds       int       `json:"rebuilds" doc:"How often the listener was rebuilt."`
	RebuiltFor     string    `json:"rebuiltFor,omitempty" example:"recycled" doc:"Why, the last time."`
	RoundAt        time.Time `json:"roundAt,omitzero" doc:"When its last round through all open documents ended; left out before the first."`
	RoundMillis    int64     `json:"roundMillis" doc:"How long that took."`
	RoundFresh     int       `json:"roundFresh" doc:"Documents that it found and that this instance had not known of."`
	RoundErrorCode string    `json:"roundErrorCode,omitempty" example:"Unavailable" doc:"Why it failed; left out where it went well."`
}

// QueueItem is one document of a work queue, without what it says.
type QueueItem struct {
	ID            string            `json:"id" example:"outbox/notification_dispatch:org-1:matter.created:matter:m-1:bob:in_app:matter-created" doc:"The document's path."`
	Queue         string            `json:"queue" example:"jobs"`
	Tenant        string            `json:"tenant" example:"org-1" doc:"Of jobs the organization; of notifications clientId/condominiumId."`
	Status        string            `json:"status" example:"failed"`
	Attempts      int               `json:"attempts" example:"5" doc:"Those that were counted."`
	MaxAttempts   int               `json:"maxAttempts" example:"5" doc:"After so many it comes to a bad end."`
	About         map[string]string `json:"about" nullable:"false" doc:"What it is about, such as eventType, entityId, recipientId and channel, as far as it says."`
	CreatedAt     time.Time         `json:"createdAt,omitzero"`
	UpdatedAt     time.Time         `json:"updatedAt" doc:"When it was changed last."`
	DueAt         time.Time         `json:"dueAt,omitzero" doc:"Of a pending one: when its next attempt may begin; left out where that is at once."`
	LeaseEnds     time.Time         `json:"leaseEnds,omitzero" doc:"Of one that is being processed: when another worker may take it over."`
	Owner         string            `json:"owner,omitempty" example:"jobs-1f3a9c02/17" doc:"The claim that had it last."`
	LastError     string            `json:"lastError,omitempty"`
	LastErrorCode string            `json:"lastErrorCode,omitempty" example:"MAYBE_SENT"`
	ETag          string            `json:"etag" example:"\"1d3k\"" doc:"For If-Match: a requeue made with it is refused (412) when the document was changed since."`
}

// QueueItemDetail is one document with all that is known of it.
type QueueItemDetail struct {
	QueueItem
	Document  map[string]any  `json:"document" doc:"The document as it stands, payload included."`
	History   []QueueEvent    `json:"history" nullable:"false" doc:"What happened to it, as far as its fields tell, the oldest first."`
	Decisions []AuditEntry    `json:"decisions" nullable:"false" doc:"What was decided about it, the latest first; 50 at most."`
	Requeue   PossibleRequeue `json:"requeue" doc:"Whether the caller may have it tried again now."`
}

// QueueEvent is something that happened to a document.
type QueueEvent struct {
	At   time.Time `json:"at,omitzero" doc:"Left out where it is not known."`
	Kind string    `json:"kind" enum:"created,claimed,failed,closed,dead_letter"`
	Text string    `json:"text" example:"attempt 5 failed: NOT_SENT"`
}

// PossibleRequeue is whether a requeue would be carried out, as things stand.
type PossibleRequeue struct {
	Allowed bool   `json:"allowed"`
	Why     string `json:"why,omitempty" example:"it is sent" doc:"What stands in the way."`
	Hint    string `json:"hint,omitempty" doc:"What to do about that."`
	Warning string `json:"warning,omitempty" example:"nobody knows whether it was sent: the recipient may have it twice" doc:"What to know before it is done."`
}

// QueueRequeued is what a requeue came to.
type QueueRequeued struct {
	Item     QueueItem  `json:"item" doc:"The document as it was written."`
	Decision AuditEntry `json:"decision" doc:"As the audit has it; its time is that of the commit."`
	Warning  string     `json:"warning,omitempty" doc:"What to know about it."`
}

func workQueueOf(o desk.Overview) WorkQueue {
	w := WorkQueue{Queue: o.Queue, Collection: o.Collection, Other: o.Other, OtherAtLeast: o.OtherAtLeast, OldestPending: o.Oldest, Statuses: convert(o.Statuses, func(s desk.StatusCount) QueueStatus {
		return QueueStatus{s.Status, s.Count, s.AtLeast, s.Open, s.Requeues}
	})}
	if !o.Oldest.IsZero() {
		w.OldestAgeMillis = max(0, o.At.Sub(o.Oldest).Milliseconds())
	}
	return w
}

func hereOf(h workqueue.Health) *QueueHere {
	return &QueueHere{
		Instance: h.Instance, Ready: h.Ready(), Waiting: h.Waiting, Later: h.Later, Busy: h.Busy, Workers: h.Workers,
		Listener: h.Listener.State, ListenerSince: h.Listener.Since, Rebuilds: h.Listener.Rebuilds, RebuiltFor: h.Listener.Reason,
		RoundAt: h.Round.At, RoundMillis: h.Round.Took.Milliseconds(), RoundFresh: h.Round.Fresh, RoundErrorCode: h.Round.Error,
	}
}

func queueItemOf(i *desk.Item) QueueItem {
	about := i.About
	if about == nil {
		about = map[string]string{}
	}
	return QueueItem{
		ID: i.ID, Queue: i.Queue, Tenant: i.Tenant, Status: i.Status, Attempts: i.Attempts, MaxAttempts: i.Most, About: about,
		CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt, DueAt: i.DueAt, LeaseEnds: i.LeaseEnds, Owner: i.Owner,
		LastError: i.LastError, LastErrorCode: i.LastErrorCode, ETag: etag(i.UpdatedAt),
	}
}
