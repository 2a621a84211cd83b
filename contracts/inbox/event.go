package inbox

import (
	"context"

	"outboxrelay/contracts"
)

// Event is one event as a handler gets it.
type Event struct {
	contracts.Envelope
	Attributes map[string]string // of its message; not to be changed
	// Attempt is 1 at first, and one more for each failure that was counted.
	Attempt int
	// Ref names the claim under which it is handled. Its Token differs for each claim:
	// an effect elsewhere can be fenced with it.
	Ref Ref
}

// Handler handles one event; nil means that its effect has happened. Its ctx ends
// after Options.Timeout, and soon after the receiving ends. A handler that returns no
// answer in time, or panics, has failed.
//
// An error may say by behaviour what it means, see contracts.KindOf: a Permanent one
// makes a dead letter at once, an Outage counts no failure, and any other counts one.
type Handler func(ctx context.Context, e *Event) error
