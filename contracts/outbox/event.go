package outbox

import "time"

// Event is what a producer says of one event. Type, aggregate, version and payload
// are all that most events need.
type Event struct {
	Type             string // as the catalog declares it, such as "WalletCredited"
	AggregateID      string // its records are delivered in the order of AggregateVersion; may be "" where the catalog says how to make it
	AggregateVersion int64  // 0 or more: the position of the event within its aggregate
	// Payload is a map[string]any, or whatever encoding/json makes an object of. In a
	// map, time.Time and []byte are stored as Firestore's own types; in a struct they
	// become the strings that JSON has for them.
	Payload any

	// Outbox is the collection to append to. "" is the one outbox of the catalog that
	// declares Type by name; it is needed where several do, or a pattern alone.
	Outbox        string
	AggregateType string    // optional
	Version       int64     // of the payload's contract; 0: the newest that the catalog declares, else 1
	EventID       string    // a UUID; "": derived, see the package's comment
	OccurredAt    time.Time // the domain's time, of which microseconds are kept; zero: now
	// TraceID correlates the event with what led to it. "": the trace of the context's
	// span, or a new one where there is none.
	TraceID string
}
