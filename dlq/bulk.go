package dlq

import "time"

// BulkState is where a bulk replay stands.
type BulkState string

// The states of a bulk replay.
const (
	BulkRunning   BulkState = "running"
	BulkDone      BulkState = "done"      // every item of it has ended or was passed over
	BulkStopped   BulkState = "stopped"   // too many failed
	BulkCancelled BulkState = "cancelled" // by a person
)

// The phases of a bulk replay.
const (
	PhaseCanary = "canary" // the first few, before all others
	PhaseRamp   = "ramp"   // the rest, ever faster up to its rate
)

// Bulk is a bulk replay: a selection that was pinned when it was made, and how
// far it has got. Its numbers count pinned items and add up to Total.
type Bulk struct {
	ID            string
	State         BulkState
	Phase         string // the last, once it has ended
	Filter        Filter
	Picked        bool // it was told its dead letters one by one: Filter is empty
	RatePerSecond float64
	By            Actor
	Reason        string
	CreatedAt     time.Time
	EndedAt       time.Time
	EndReason     string // in words
	CancelledBy   string
	Total         int // pinned items
	Delivered     int
	Failed        int
	Skipped       int      // not what was pinned any more, or behind an older one that failed
	Replaying     int      // asked for and not ended
	Waiting       int      // not asked for yet
	FailedIDs     []string // the first of those that failed, MaxFailedIDs at most
	UpdateTime    time.Time

	Pinned string // names where its pinned items stand
	Order  string // of one that a request with a key started: hash of what was ordered
}

// MaxFailedIDs is how many of its failed dead letters a bulk replay names.
const MaxFailedIDs = 50

// Selection is what a bulk replay takes, in the order in which it does.
type Selection struct {
	Items []*Item // without record
	// Refused counts the matches that it does not take, by the reason in words:
	// closed ones, SECURITY_BLOCK, ...
	Refused map[string]int
	// Pin stands for exactly these items as they are. A request that carries it is
	// refused when the same selection finds anything else; see BulkRequest.
	Pin string
}

// MaxSelection is the number of items that one bulk replay takes at most.
const MaxSelection = 10_000

// MaxPicked is the number of dead letters that can be told one by one.
const MaxPicked = 200

// MaxBulkRate is the fastest that a bulk replay may ask for, in items a second.
const MaxBulkRate = 1000

// BulkRequest asks for a bulk replay.
type BulkRequest struct {
	Filter        Filter
	IDs           []string // these dead letters, instead of what a filter matches
	Pin           string   // of the Selection that was looked at: nothing else is replayed; "": whatever is found now
	Key           string   // the actor's own: sent again, the same request starts nothing more; ""
	RatePerSecond float64  // 0: the catalog's replay rate; at most MaxBulkRate
	Actor         Actor
	Reason        string // may be left out
}
