package inbox_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

func TestFailuresOfHandlers(t *testing.T) {
	forever := func(release <-chan struct{}) func(context.Context) error {
		return func(context.Context) error { <-release; return nil }
	}
	for _, test := range []struct {
		name string
		run  func(release <-chan struct{}) func(ctx context.Context) error
		code string
	}{
		{"fails", func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error { return errBroken }
		}, inbox.CodeFailed},
		{"fails with a code", func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error { return &contracts.Failure{Code: "NoCredit", Err: errBroken} }
		}, "NoCredit"},
		{"panics", func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error { panic("all is lost") }
		}, inbox.CodePanic},
		{"ends its goroutine", func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error { runtime.Goexit(); return nil }
		}, inbox.CodeFailed},
		{"takes too long", func(<-chan struct{}) func(context.Context) error {
			return func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		}, inbox.CodeTimeout},
		{"hangs", forever, inbox.CodeHanging},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did effects
				store := inbox.NewMemory()
				box := inbox.New(store, "billing", quiet(inbox.Options{}))
				release := make(chan struct{})
				run := test.run(release)
				messages := series(t, "acc-1", 2)
				b := broker{}
				b.deliver(t.Context(), box, func(ctx context.Context, e *inbox.Event) error {
					did.add(e)
					if e.AggregateVersion == 1 && e.Attempt == 1 {
						return run(ctx)
					}
					return nil
				}, messages...)
				b.wait()
				close(release)
				if got := did.of(messages[0]); len(got) != 2 || got[1].attempt != 2 {
					t.Errorf("handled %+v, want once more after it failed", got)
				}
				if out := did.disorder(); len(out) > 1 { // the second try
					t.Errorf("disorder: %v", out)
				}
			})
		})
	}
}

func TestErrorOfEachFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dead graveyard
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead, Delays: []time.Duration{time.Second}, MaxTries: 3}))
		m, b := event(t, "acc-1", 1), broker{}
		b.deliver(t.Context(), box, func(ctx context.Context, e *inbox.Event) error {
			switch e.Attempt {
			case 1:
				panic("all is lost")
			case 2:
				<-ctx.Done()
				return ctx.Err()
			}
			return errors.New(strings.Repeat("long \xff", 1000))
		}, m)
		b.wait()
		letters := dead.all()
		if len(letters) != 1 || len(letters[0].Errors) != 3 {
			t.Fatalf("got %+v, want one dead letter of three errors", letters)
		}
		for n, code := range []string{inbox.CodePanic, inbox.CodeTimeout, inbox.CodeFailed} {
			e := letters[0].Errors[n]
			if e.Code != code || len(e.Message) > contracts.MaxErrorBytes || e.At.IsZero() {
				t.Errorf("error %d is %+v, want %s", n, e, code)
			}
		}
	})
}

func TestKindsOfFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		var dead graveyard
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead}))
		permanent, outage := event(t, "acc-1", 1), event(t, "acc-2", 1)
		start, b := time.Now(), broker{}
		b.deliver(t.Context(), box, did.handler(func(e *inbox.Event) error {
			switch {
			case e.EventID == permanent.eventID:
				return &contracts.Failure{Kind: contracts.Permanent, Code: "NoSuchAccount"}
			case time.Since(start) < 10*time.Hour:
				return &contracts.Failure{Kind: contracts.Outage, Code: "Unavailable"}
			}
			return nil
		}), permanent, outage)
		b.wait()
		if letters := dead.all(); len(letters) != 1 || letters[0].Reason != contracts.PermanentFailure || letters[0].Errors[0].Code != "NoSuchAccount" {
			t.Errorf("got %+v, want the permanent failure alone", letters)
		}
		if n := len(did.of(permanent)); n != 1 {
			t.Errorf("what can never succeed is tried %d times", n)
		}
		calls := did.of(outage)
		if last := calls[len(calls)-1]; last.attempt != 1 || last.after < 10*time.Hour {
			t.Errorf("the last try is %+v, want the first that counts, after the outage", last)
		}
	})
}
