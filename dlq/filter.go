package dlq

import (
	"time"

	"outboxrelay/contracts"
)

// Filter selects dead letters. A zero field does not narrow it; those that are
// set hold together.
type Filter struct {
	EventID     string              `json:"eventId,omitempty"`
	EventType   string              `json:"eventType,omitempty"`
	TraceID     string              `json:"traceId,omitempty"`
	AggregateID string              `json:"aggregateId,omitempty"`
	Tier        contracts.Tier      `json:"tier,omitempty"`
	State       contracts.DeadState `json:"state,omitempty"`
	Outbox      string              `json:"outbox,omitempty"`
	Lane        contracts.Lane      `json:"lane,omitempty"`
	Reason      contracts.Reason    `json:"reason,omitempty"`
	Group       string              `json:"group,omitempty"`
	Consumer    string              `json:"consumer,omitempty"` // that could not handle the event
	Open        *bool               `json:"open,omitempty"`     // still waits for somebody
	From        time.Time           `json:"from,omitzero"`      // deadAt at or after
	To          time.Time           `json:"to,omitzero"`        // deadAt before
}

// anytime is the filter without its range of time. Page tokens are good for any
// range: their place is one in the order of time, and a range that counts back
// from now is another one for each page.
func (f Filter) anytime() Filter {
	f.From, f.To = time.Time{}, time.Time{}
	return f
}

// Page asks for one page of a list.
type Page struct {
	Limit int    // 1 to MaxPage; 0: DefaultPage
	Token string // where the page before ended; "" for the first
}

// Bounds of a page.
const (
	DefaultPage = 50
	MaxPage     = 200
)

// Paged is one page of a list, and where the next begins; "" at the end.
type Paged[T any] struct {
	Items []T
	Next  string
}
