package adminapi

import (
	"encoding/json"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// List is one page of a list.
type List[T any] struct {
	Items         []T    `json:"items"`
	NextPageToken string `json:"nextPageToken"` // "": there is no more
}

// Item is a dead letter. The times of what did not happen are zero.
type Item struct {
	ID               string              `json:"id"`
	Tier             contracts.Tier      `json:"tier"`
	OriginalTier     contracts.Tier      `json:"originalTier"`
	State            contracts.DeadState `json:"state"`
	Open             bool                `json:"open"`
	Reason           contracts.Reason    `json:"reason"`
	Outbox           string              `json:"outbox"`
	RecordPath       string              `json:"recordPath"`
	EventID          string              `json:"eventId"`
	EventType        string              `json:"eventType"`
	TraceID          string              `json:"traceId"`
	AggregateID      string              `json:"aggregateId"`
	AggregateVersion *int64              `json:"aggregateVersion"` // nil: its record has no sound one
	Lane             contracts.Lane      `json:"lane"`
	PendingTargets   []string            `json:"pendingTargets"`
	Consumer         string              `json:"consumer"`
	Errors           []Attempt           `json:"errors"`
	Attempts         int                 `json:"attempts"`
	DeadAt           time.Time           `json:"deadAt"`
	Replays          int                 `json:"replays"`
	NextReplayAt     time.Time           `json:"nextReplayAt"`
	Decisions        []Decision          `json:"decisions"`
	Group            string              `json:"group"`
	Replaying        *Request            `json:"replaying"`
	AuthorizedBy     string              `json:"authorizedBy"`
	Actions          []Possible          `json:"actions"`         // of a single one, as below
	PayloadWithheld  string              `json:"payloadWithheld"` // why not all of its record is shown; "": it is
}

// Attempt is one failed delivery.
type Attempt struct {
	Time    time.Time `json:"time"`
	Attempt int       `json:"attempt"`
	Target  string    `json:"target"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
}

// Decision is one line of a dead letter's history.
type Decision struct {
	Action string    `json:"action"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Request is a replay that was asked for and has not ended.
type Request struct {
	By    string `json:"by"`
	Waits Waits  `json:"waits"`
}

// Waits is what a replay waits for, as far as is known.
type Waits struct {
	Targets []string `json:"targets"` // that are out
	Behind  string   `json:"behind"`  // an older dead letter
}

// Possible is an action and whether the caller may do it now.
type Possible struct {
	Action  string `json:"action"`
	Allowed bool   `json:"allowed"`
	Why     string `json:"why"`  // it is not allowed
	Hint    string `json:"hint"` // what to do about that
}

// Uncovered is the answer to a look at a covered payload.
type Uncovered struct {
	Record        json.RawMessage `json:"record"`
	RecordTrimmed bool            `json:"recordTrimmed"`
}

// Decided is the answer to a decision.
type Decided struct {
	Item  Item       `json:"item"`
	Order *OrderNote `json:"order"` // of a replay
}

// OrderNote says what a replay does to the order of its aggregate.
type OrderNote struct {
	Message string `json:"message"`
}

// Group is a kind of dead letter with its number.
type Group struct {
	ID        string    `json:"id"`
	EventType string    `json:"eventType"`
	Code      string    `json:"code"`
	Error     string    `json:"error"`
	Count     int64     `json:"count"`
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
}

// Freeze is an aggregate whose records are held.
type Freeze struct {
	AggregateID string          `json:"aggregateId"`
	State       dlq.FreezeState `json:"state"`
	FrozenAt    time.Time       `json:"frozenAt"`
	Outbox      string          `json:"outbox"`
	EventType   string          `json:"eventType"`
	DeadLetters []string        `json:"deadLetters"`
	ReleasedBy  string          `json:"releasedBy"`
}

// Released is the answer to a release.
type Released struct {
	Open []Item `json:"open"` // blocked dead letters that what is released overtakes
}

// Bulk is a bulk replay.
type Bulk struct {
	ID          string         `json:"id"`
	State       dlq.BulkState  `json:"state"`
	Phase       string         `json:"phase"`
	By          string         `json:"by"`
	Reason      string         `json:"reason"`
	CreatedAt   time.Time      `json:"createdAt"`
	EndReason   string         `json:"endReason"`
	CancelledBy string         `json:"cancelledBy"`
	Total       int            `json:"total"`
	Delivered   int            `json:"delivered"`
	Failed      int            `json:"failed"`
	Skipped     int            `json:"skipped"`
	SkippedFor  map[string]int `json:"skippedFor"` // these by the reason in words
	Replaying   int            `json:"replaying"`
	Waiting     int            `json:"waiting"`
	HeldFor     map[string]int `json:"heldFor"` // of these two, those that cannot go on now
}

// Ended reports whether nothing of it will change any more.
func (b Bulk) Ended() bool {
	return b.State.Ended() && b.Replaying == 0
}

// BulkRequest asks for a bulk replay, or with DryRun what it would take.
type BulkRequest struct {
	Filter        *dlq.Filter `json:"filter,omitempty"`
	IDs           []string    `json:"ids,omitempty"` // instead of a filter
	DryRun        bool        `json:"dryRun,omitempty"`
	Pin           string      `json:"pin,omitempty"`           // of a dry run: nothing else is replayed
	RequestID     string      `json:"requestId,omitempty"`     // the same again starts nothing more
	RatePerSecond float64     `json:"ratePerSecond,omitempty"` // 0: the catalog's
	Reason        string      `json:"reason,omitempty"`
}

// Selection is what a bulk replay would take.
type Selection struct {
	Items   []Selected     `json:"items"`
	Refused map[string]int `json:"refused"` // matches that it would not take, by the reason
	Pin     string         `json:"pin"`
	Plan    Plan           `json:"plan"`
}

// Selected is one dead letter of a selection.
type Selected struct {
	ID               string           `json:"id"`
	Tier             contracts.Tier   `json:"tier"`
	Reason           contracts.Reason `json:"reason"`
	Outbox           string           `json:"outbox"`
	EventType        string           `json:"eventType"`
	AggregateID      string           `json:"aggregateId"`
	AggregateVersion *int64           `json:"aggregateVersion"` // as of Item
	DeadAt           time.Time        `json:"deadAt"`
	LastError        *Attempt         `json:"lastError"`
}

// Plan is how a bulk replay would go on.
type Plan struct {
	Canary        int     `json:"canary"`
	RatePerSecond float64 `json:"ratePerSecond"`
	Seconds       int     `json:"seconds"` // at the least
}

// Event is one line of a timeline.
type Event struct {
	At        time.Time `json:"at"`
	Kind      string    `json:"kind"`
	Summary   string    `json:"summary"`
	EventType string    `json:"eventType"`
}

// Timeline is all that is known of a trace.
type Timeline struct {
	Events    []Event `json:"events"`
	Truncated bool    `json:"truncated"`
	// Freezes are those of its aggregates, as they stand.
	Freezes []Freeze `json:"freezes"`
}

// Lane is a lane: who paused it, and how it does on the instance that answers.
type Lane struct {
	Lane        contracts.Lane `json:"lane"`
	SLAMillis   int64          `json:"slaMillis"`
	Paused      bool           `json:"paused"`
	PausedBy    string         `json:"pausedBy"`
	PauseReason string         `json:"pauseReason"`
	Queued      int            `json:"queued"`
	InFlight    int            `json:"inFlight"`
	Waiting     int            `json:"waiting"`
	Unsettled   []Unsettled    `json:"unsettled"`
	Delivered   int64          `json:"delivered"`
	P50Millis   int64          `json:"p50Millis"`
	P99Millis   int64          `json:"p99Millis"`
}

// Lanes is all of them.
type Lanes struct {
	Items   []Lane `json:"items"`
	Warning string `json:"warning"` // what is not known
}

// Unsettled is what waits of an outbox since Firestore does not answer, on one instance.
type Unsettled struct {
	Outbox  string    `json:"outbox"`
	Records int       `json:"records"`
	Since   time.Time `json:"since"`
}

// Target is where records are delivered to.
type Target struct {
	Target string `json:"target"`
	State  string `json:"state"` // of its breaker: closed while it answers
	Reason string `json:"reason"`
}

// TargetList is all targets, as one instance sees them.
type TargetList struct {
	Items    []Target `json:"items"`
	Instance string   `json:"instance"`
}

// Outbox is an outbox, or a shard of one, and who relays it.
type Outbox struct {
	Outbox string `json:"outbox"`
	Shard  int    `json:"shard"`
	Shards int    `json:"shards"`
	Owner  string `json:"owner"` // "": nobody
	Lease  string `json:"lease"` // "held"; else the outbox stands still
}

// LaneControl is whether a lane is paused, and who said so last.
type LaneControl struct {
	Lane   contracts.Lane `json:"lane"`
	Paused bool           `json:"paused"`
	By     string         `json:"by"`
	Reason string         `json:"reason"`
}

// Entry is one line of the audit.
type Entry struct {
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
	Role    string    `json:"role"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	On      string    `json:"on"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Reason  string    `json:"reason"`
}

// Why is the body of a decision.
type Why struct {
	Reason string `json:"reason"`
}

// WorkQueue is one work queue.
type WorkQueue struct {
	Queue           string        `json:"queue"`
	Statuses        []QueueStatus `json:"statuses"`
	Other           int64         `json:"other"` // of another status, or of none
	OtherAtLeast    bool          `json:"otherAtLeast"`
	OldestPending   time.Time     `json:"oldestPending"` // zero: nothing is pending
	OldestAgeMillis int64         `json:"oldestAgeMillis"`
	Here            *QueueHere    `json:"here"` // nil: the instance that answered does not run it
}

// WorkQueues is all of them.
type WorkQueues struct {
	Items   []WorkQueue `json:"items"`
	Warning string      `json:"warning"` // what is not known
}

// QueueStatus is how many documents have a status.
type QueueStatus struct {
	Status  string `json:"status"`
	Count   int64  `json:"count"`
	AtLeast bool   `json:"atLeast"`
}

// QueueHere is how the instance that answered does with a queue.
type QueueHere struct {
	Ready    bool   `json:"ready"`
	Waiting  int    `json:"waiting"`
	Busy     int    `json:"busy"`
	Listener string `json:"listener"`
}

// QueueItem is a document of a work queue. What follows on LastErrorCode is of a single one.
type QueueItem struct {
	ID            string            `json:"id"`
	Tenant        string            `json:"tenant"`
	Status        string            `json:"status"`
	Attempts      int               `json:"attempts"`
	MaxAttempts   int               `json:"maxAttempts"`
	About         map[string]string `json:"about"`
	CreatedAt     time.Time         `json:"createdAt"`
	DueAt         time.Time         `json:"dueAt"`
	LeaseEnds     time.Time         `json:"leaseEnds"`
	Owner         string            `json:"owner"`
	LastError     string            `json:"lastError"`
	LastErrorCode string            `json:"lastErrorCode"`

	Document  json.RawMessage `json:"document"`
	History   []QueueEvent    `json:"history"`
	Decisions []Entry         `json:"decisions"`
	Requeue   QueueRequeue    `json:"requeue"`
}

// QueueEvent is something that happened to a document.
type QueueEvent struct {
	At   time.Time `json:"at"` // zero: it is not known
	Text string    `json:"text"`
}

// QueueRequeue is whether the caller may have a document tried again.
type QueueRequeue struct {
	Allowed bool   `json:"allowed"`
	Why     string `json:"why"`
	Hint    string `json:"hint"`
	Warning string `json:"warning"`
}

// Requeued is what a requeue came to.
type Requeued struct {
	Item    QueueItem `json:"item"`
	Warning string    `json:"warning"`
}
