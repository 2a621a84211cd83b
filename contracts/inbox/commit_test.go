package inbox_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts/inbox"
)

// committing is a store whose transactions end as the test has it.
type committing struct {
	*inbox.Memory
	// commit is asked before each, with how many there were; again: the transaction is tried again.
	commit func(ctx context.Context, n int) (again bool, err error)
	n      *atomic.Int64
}

func (c committing) Within(ctx context.Context, ref inbox.Ref, ttl time.Duration, f func(context.Context, struct{}) error) error {
	for {
		if err := f(ctx, struct{}{}); err != nil {
			return err
		}
		if again, err := c.commit(ctx, int(c.n.Add(1))); err != nil {
			return err
		} else if !again {
			return c.Settle(ctx, ref, inbox.EndProcessed, ttl)
		}
	}
}

var errStore = errors.New("the store is not there")

// What the store says of a commit decides whether the event was tried; how long it took never does.
func TestCommitThatFails(t *testing.T) {
	const outage = 20 // commits that fail
	hangs := func(ctx context.Context, n int) (bool, error) {
		if n <= outage {
			<-ctx.Done()
			pass(5 * time.Second) // for rolling back
			return false, ctx.Err()
		}
		return false, nil
	}
	fails := func(err error) func(context.Context, int) (bool, error) {
		return func(_ context.Context, n int) (bool, error) {
			if n > outage {
				err = nil
			}
			return false, err
		}
	}
	contended := func(_ context.Context, n int) (bool, error) {
		pass(7 * time.Second)
		return n <= outage, nil
	}
	for _, test := range []struct {
		name    string
		commit  func(ctx context.Context, n int) (bool, error)
		handler inbox.HandlerIn[struct{}]
		dead    string // "": it is handled in the end
	}{
		{"in a way that passes", fails(inbox.Passing(errStore)), nil, ""},
		{"in a way that stays", fails(errStore), nil, inbox.CodeFailed},
		{"by its deadline, after the handler's", hangs, nil, ""},
		{"as others stand in the way, beyond the handler's time", contended, nil, ""},
		{
			"as others stand in the way, and the handler ends with its ctx", contended,
			func(ctx context.Context, _ struct{}, _ *inbox.Event) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(20 * time.Second):
					return nil
				}
			}, "",
		},
		{
			"as others stand in the way, and the handler does not look at its ctx", contended,
			func(context.Context, struct{}, *inbox.Event) error { pass(20 * time.Second); return nil }, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dead graveyard
				store := committing{inbox.NewMemory(), test.commit, new(atomic.Int64)}
				box := inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: &dead, MaxTries: 2}))
				if test.handler == nil {
					test.handler = func(context.Context, struct{}, *inbox.Event) error { return nil }
				}
				var attempts sync.Map // a handler that was left behind may have its turn beside the next
				m := event(t, "acc-1", 1)
				for !inbox.DeliverIn(t.Context(), box, store, m.data, m.attributes, func(ctx context.Context, tx struct{}, e *inbox.Event) error {
					attempts.Store(e.Attempt, true)
					return test.handler(ctx, tx, e)
				}) {
					pass(time.Millisecond)
				}
				letters, tries := dead.all(), []any{}
				for attempt := range attempts.Range {
					tries = append(tries, attempt)
				}
				switch {
				case test.dead == "" && (len(letters) != 0 || len(tries) != 1):
					t.Errorf("dead letters %+v and attempts %v, want none and no failure counted", letters, tries)
				case test.dead != "" && (len(letters) != 1 || letters[0].Errors[0].Code != test.dead):
					t.Errorf("got %+v, want one dead letter of %s", letters, test.dead)
				}
				pass(time.Hour) // those that were left behind end
			})
		})
	}
}
