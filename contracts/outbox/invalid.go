package outbox

import (
	"fmt"
	"strings"

	"outboxrelay/contracts"
)

// InvalidError is the error of events that break the contract, or a limit of
// Firestore or Pub/Sub. Nothing was written or read. It names every fault of every
// event, and never a value of a payload.
type InvalidError struct {
	Events []InvalidEvent // those with faults
	Of     int            // how many events there were
}

// InvalidEvent is one event that is not accepted.
type InvalidEvent struct {
	Index  int    // among the events given, from 0
	Type   string // the event's
	Outbox string // "" where none was found
	Faults contracts.Faults
}

// Error names every fault.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Events))
	for i, event := range e.Events {
		name := quoted(event.Type)
		if e.Of > 1 {
			name = fmt.Sprintf("%d (%s)", event.Index, name)
		}
		parts[i] = fmt.Sprintf("event %s: %s", name, event.Faults.Error())
	}
	return "append to outbox: " + strings.Join(parts, "; ")
}
