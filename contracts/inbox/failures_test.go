package inbox_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/status"

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
		{"fails with a code that a store may not hold", func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error { return &contracts.Failure{Code: "No\x00Credit", Err: errBroken} }
		}, "NoCredit"},
		{"fails with a page for a code", func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error {
				return &contracts.Failure{Code: strings.Repeat("x", 5000), Err: errBroken}
			}
		}, strings.Repeat("x", 100)},
		{"panics", func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error { panic("all is lost") }
		}, inbox.CodePanic},
		{"returns no failure at all as an error", func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error { var none *contracts.Failure; return none }
		}, inbox.CodePanic},
		{"fails with an error that cannot be told", func(<-chan struct{}) func(context.Context) error {
			return func(context.Context) error { return untold{} }
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
				store := &givenBack{Store: inbox.NewMemory()}
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
				if len(store.codes) != 1 || store.codes[0] != test.code {
					t.Errorf("the store has failures with the codes %q, want %q alone", store.codes, test.code)
				}
			})
		})
	}
}

// givenBack notes the codes of the failures that a store is told.
type givenBack struct {
	inbox.Store
	mu    sync.Mutex
	codes []string
}

func (g *givenBack) GiveBack(ctx context.Context, ref inbox.Ref, failure contracts.AttemptError, wait time.Duration) error {
	if failure.Code != "" {
		g.mu.Lock()
		g.codes = append(g.codes, failure.Code)
		g.mu.Unlock()
	}
	return g.Store.GiveBack(ctx, ref, failure, wait)
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

// A handler that is cut off as the receiving ends says so in the words of what it called: a gRPC client's are no
// context.Canceled.
func TestAStopIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, dead, m := inbox.NewMemory(), &graveyard{}, event(t, "acc-1", 1)
		for range 6 {
			ctx, stop := context.WithCancel(t.Context())
			box := inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: dead}))
			if box.Deliver(ctx, m.data, m.attributes, func(ctx context.Context, _ *inbox.Event) error {
				stop()
				<-ctx.Done()
				return status.FromContextError(ctx.Err()).Err()
			}) {
				t.Fatal("it is acknowledged")
			}
		}
		var did effects
		box := inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: dead}))
		if !box.Deliver(t.Context(), m.data, m.attributes, did.handler(nil)) || len(did.calls) != 1 || did.calls[0].attempt != 1 {
			t.Errorf("after six stops it is handled %+v, dead letters %+v; want a first attempt", did.calls, dead.all())
		}
	})
}

// What failed before it was refused is open in the store until it is settled, and what comes behind it waits.
func TestARefusedEventHoldsBackNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		store, dead, messages := inbox.NewMemory(), &graveyard{}, series(t, "acc-1", 2)
		box := inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: dead, Hold: -1}))
		if box.Deliver(t.Context(), messages[0].data, messages[0].attributes, did.handler(always)) {
			t.Fatal("what failed is acknowledged")
		}
		strict := map[string]any{"event_version": 2}
		box = inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: dead, Hold: -1, Versions: map[string][]int64{"SkillXpAdded": {1}, "SkillXpDeducted": {1}}}))
		messages[0].data = with(t, messages[0].data, strict)
		b := broker{backoff: time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		b.deliver(ctx, box, did.handler(nil), messages...)
		b.wait()
		letters := dead.all()
		if len(letters) != 1 || letters[0].Reason != contracts.ContractViolation || letters[0].Attempts != 2 || len(letters[0].Errors) != 2 {
			t.Errorf("dead letters %+v, want the one that is refused, with the failure before", letters)
		}
		if len(did.of(messages[0])) != 1 || len(did.of(messages[1])) != 1 {
			t.Errorf("handled %+v, want the second, which waited behind it", did.calls)
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

// untold panics where its text is asked for, as many an error of type *T does that is nil.
type untold struct{}

func (untold) Error() string { panic("nobody knows") }

// asking is a store whose transactions look into the error that ends them, as Firestore's client does.
type asking struct{ pooled }

func (a asking) Within(ctx context.Context, ref inbox.Ref, ttl time.Duration, f func(context.Context, struct{}) error) error {
	return a.pooled.Within(ctx, ref, ttl, func(ctx context.Context, tx struct{}) error {
		err := f(ctx, tx)
		_ = status.Code(err)
		return err
	})
}

func TestErrorThatCannotBeToldEndsItsTransaction(t *testing.T) {
	var dead graveyard
	store := asking{pooled{inbox.NewMemory(), make(chan struct{}, 1)}}
	box := inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: &dead, MaxTries: 1}))
	m := event(t, "acc-1", 1)
	ack := inbox.DeliverIn(t.Context(), box, store, m.data, m.attributes, func(context.Context, struct{}, *inbox.Event) error {
		var none *contracts.Failure
		return none
	})
	letters := dead.all()
	if !ack || len(letters) != 1 || letters[0].Errors[0].Code != inbox.CodePanic {
		t.Fatalf("acknowledged is %v and buried %+v, want it buried for its error", ack, letters)
	}
	if said := letters[0].Errors[0].Message; !strings.HasPrefix(said, "the handler returned a *contracts.Failure that does not say what it is: panic: ") {
		t.Errorf("the dead letter says %q, want it to name the error's type", said)
	}
}
