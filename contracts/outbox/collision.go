package outbox

import (
	"fmt"
	"strings"
)

// CollisionError is the error of events whose idempotency key another event has
// already: two claim the same place. Nothing was written. Trying again does not
// help; mostly the aggregate's version was not taken from the transaction's own
// read.
type CollisionError struct{ Collisions []Collision }

// Collision is an event that meets another one under its key.
type Collision struct {
	Index    int      // among the events or records given, from 0
	Document string   // OUTBOX/ID
	Differs  []string // fields that are not the same, such as "payload"
}

// Error names each collision, and never a value.
func (e *CollisionError) Error() string {
	parts := make([]string, len(e.Collisions))
	for i, c := range e.Collisions {
		parts[i] = fmt.Sprintf("%s is another event already: %s differs", c.Document, strings.Join(c.Differs, ", "))
	}
	return "append to outbox: " + strings.Join(parts, "; ")
}
