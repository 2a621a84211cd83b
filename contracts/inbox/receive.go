package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2"
)

// ErrUnanswered says that Pub/Sub did not answer when the receiving was to end. Nothing is lost by it: a
// message whose acknowledgement did not arrive comes again, and is acknowledged without an effect.
var ErrUnanswered = errors.New("Pub/Sub does not answer: what it was not told comes again")

// Receive is s.Receive that always ends: three times Options.Grace after ctx did, at the latest, which is
// what a handler and its store may need. Google's client, as of v2.8.1, waits for ever where Pub/Sub cannot
// be reached at that moment; what is left of it then ends with the process. f is what Handle or HandleIn
// made. Receive returns nil once ctx has ended, or ErrUnanswered, or why Pub/Sub refuses the subscription.
func (i *Inbox) Receive(ctx context.Context, s *pubsub.Subscriber, f func(context.Context, *pubsub.Message)) error {
	received := make(chan error, 1)
	go func() { received <- s.Receive(ctx, f) }()
	select {
	case err := <-received:
		return err
	case <-ctx.Done():
	}
	patience := time.NewTimer(3 * i.opts.Grace)
	defer patience.Stop()
	select {
	case err := <-received:
		return err
	case <-patience.C:
		return fmt.Errorf("%w (waited %v)", ErrUnanswered, 3*i.opts.Grace)
	}
}
