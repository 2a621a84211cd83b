package inbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// mute is a store that answers nothing.
type mute struct{ inbox.Store }

func (mute) Claim(ctx context.Context, _ inbox.Ask) (inbox.Claim, error) {
	<-ctx.Done()
	return inbox.Claim{}, ctx.Err()
}

func (mute) GiveBack(ctx context.Context, _ inbox.Ref, _ contracts.AttemptError, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// Whenever the receiving ends, a store that does not answer is tried for the grace and no longer.
func TestStopWithAStoreThatDoesNotAnswer(t *testing.T) {
	const grace = 5 * time.Second
	for _, after := range []time.Duration{time.Millisecond, 4900 * time.Millisecond, 5050 * time.Millisecond, 5200 * time.Millisecond, 17 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := inbox.New(mute{}, "billing", quiet(inbox.Options{Grace: grace}))
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				m, began := event(t, "acc-1", 1), time.Now()
				ack := box.Deliver(ctx, m.data, m.attributes, func(context.Context, *inbox.Event) error { return nil })
				if took := time.Since(began) - after; ack || took > grace {
					t.Errorf("acknowledged %v, %v after the receiving ended; want it given back within %v", ack, took, grace)
				}
			})
		})
	}
}
