package inbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts/inbox"
)

// pooled is a store whose transactions need a connection each, of which there are few.
type pooled struct {
	*inbox.Memory
	connections chan struct{}
}

func (p pooled) Within(ctx context.Context, ref inbox.Ref, ttl time.Duration, f func(context.Context, struct{}) error) error {
	select {
	case p.connections <- struct{}{}:
		defer func() { <-p.connections }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := f(ctx, struct{}{}); err != nil {
		return err
	}
	return p.Settle(ctx, ref, inbox.EndProcessed, ttl)
}

// What waits for a connection was not tried, and has its time once it has one.
func TestWaitForAConnectionIsNoAttempt(t *testing.T) {
	for _, wait := range []time.Duration{4 * time.Second, 40 * time.Second} { // within the grace, and beyond it
		t.Run(wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did effects
				var dead graveyard
				store := pooled{inbox.NewMemory(), make(chan struct{}, 1)}
				box := inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: &dead, MaxTries: 1}))
				store.connections <- struct{}{}
				time.AfterFunc(wait, func() { <-store.connections })
				m := event(t, "acc-1", 1)
				for !inbox.DeliverIn(t.Context(), box, store, m.data, m.attributes, func(ctx context.Context, _ struct{}, e *inbox.Event) error {
					did.add(e)
					pass(29 * time.Second)
					return ctx.Err()
				}) {
					pass(time.Millisecond)
				}
				if got := did.of(m); len(got) != 1 || got[0].attempt != 1 || len(dead.all()) != 0 {
					t.Errorf("handled %+v and dead letters %+v, want it handled once, as the first try", got, dead.all())
				}
			})
		})
	}
}

// What the handler itself takes is counted, also within a transaction.
func TestTimeWithinATransactionIsTheHandlers(t *testing.T) {
	for code, h := range map[string]inbox.HandlerIn[struct{}]{
		inbox.CodeTimeout: func(ctx context.Context, _ struct{}, _ *inbox.Event) error { <-ctx.Done(); return ctx.Err() },
		inbox.CodeHanging: func(context.Context, struct{}, *inbox.Event) error { pass(time.Hour); return errors.New("at last") },
	} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dead graveyard
				store := pooled{inbox.NewMemory(), make(chan struct{}, 5)}
				box := inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: &dead, MaxTries: 1}))
				m := event(t, "acc-1", 1)
				for !inbox.DeliverIn(t.Context(), box, store, m.data, m.attributes, h) {
					pass(time.Millisecond)
				}
				if letters := dead.all(); len(letters) != 1 || letters[0].Attempts != 1 || letters[0].Errors[0].Code != code {
					t.Errorf("got %+v, want one dead letter of %s", letters, code)
				}
				pass(2 * time.Hour) // the one that hung ends
			})
		})
	}
}
