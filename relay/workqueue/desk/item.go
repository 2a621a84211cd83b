package desk

import (
	"time"

	"outboxrelay/dlq"
)

// Overview is a queue as a whole.
type Overview struct {
	Queue      string
	Collection string // ID of its documents' collection, or of the collection group
	Statuses   []StatusCount
	// Other is how many documents have another status, or none: nobody will ever act on them. Those
	// without one are among them where no count stopped, else OtherAtLeast says that there may be more.
	Other        int64
	OtherAtLeast bool
	// Oldest is when the oldest of the pending documents was created; zero: there is none.
	Oldest time.Time
	At     time.Time // when this was counted, by the server's clock
}

// StatusCount is how many documents have a status.
type StatusCount struct {
	Status  string
	Count   int64
	AtLeast bool // the count stopped there: there may be more
	// Open: somebody will act on them. Requeues: a person may have them tried again.
	Open, Requeues bool
}

// Item is a document of a queue.
type Item struct {
	ID       string // the document's path, relative to the database
	Queue    string
	Tenant   string // see workqueue.Vocabulary
	Status   string
	Attempts int
	Most     int // attempts until it is dead
	// About is what it is about, in words of the queue: no texts that people are told.
	About map[string]string

	CreatedAt time.Time // zero: nobody has said so; as all times below
	UpdatedAt time.Time
	DueAt     time.Time // pending: when it may be claimed; zero: at once
	LeaseEnds time.Time // processing: when another worker may claim it
	Owner     string    // the claim that had it last

	LastError     string
	LastErrorCode string

	// Of a single document alone:
	// Fields are all of it, as plain Go values; where the SDK cannot read that, what it can of those
	// that the view names.
	Fields  map[string]any
	History []Event // as far as the fields tell, the oldest first
}

// Event is something that happened to a document.
type Event struct {
	At   time.Time // zero: it is not known
	Kind string    // created, claimed, failed, closed, dead_letter
	Text string
}

// Kinds of events.
const (
	EventCreated    = "created"
	EventClaimed    = "claimed"
	EventFailed     = "failed"
	EventClosed     = "closed"
	EventDeadLetter = "dead_letter"
)

// Filter selects documents. A zero field narrows to those of the queue's own statuses, of whatever tenant.
type Filter struct {
	Status string `json:"status,omitempty"`
	Tenant string `json:"tenant,omitempty"`
}

// Requeue is the decision that a document is tried again.
type Requeue struct {
	Actor  dlq.Actor
	Reason string
	Seen   time.Time // the update time of what the actor saw; zero: any will do
}

// Requeued is what came of it.
type Requeued struct {
	Item  *Item
	Entry *dlq.Entry // of the audit
	// Warning is what the actor has to know, as that something may be sent twice; "": nothing.
	Warning string
}
