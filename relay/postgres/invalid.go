package postgres

import (
	"fmt"
	"strings"

	"outboxrelay/contracts"
)

// InvalidError is the error of events that break the contract, or a limit of Postgres or Pub/Sub.
// Nothing was written. It names every fault of every event, and never a value of Data.
type InvalidError struct {
	Events []InvalidEvent // those with faults
	Of     int            // how many events there were
}

// InvalidEvent is one event that is not accepted.
type InvalidEvent struct {
	Index  int // among the events given, from 0
	Type   EventType
	Faults contracts.Faults
}

// Error names every fault.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Events))
	for i, event := range e.Events {
		parts[i] = fmt.Sprintf("event %q: %s", bounded(string(event.Type)), event.Faults.Error())
		if e.Of > 1 {
			parts[i] = fmt.Sprintf("event %d (%q): %s", event.Index, bounded(string(event.Type)), event.Faults.Error())
		}
	}
	return "append to " + Table + ": " + strings.Join(parts, "; ")
}

// CollisionError is the error of an event whose ID another event has. Trying again does not help;
// the caller's transaction is to be rolled back.
type CollisionError struct {
	ID      string
	Differs []string // what is not the same: columns, and of the envelope its fields
}

// Error names what differs, and never a value.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("append to %s: event %s is another one already: %s differs", Table, e.ID, strings.Join(e.Differs, ", "))
}
