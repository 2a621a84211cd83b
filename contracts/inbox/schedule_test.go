package inbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// schedule is when an event is tried that always fails.
var schedule = []time.Duration{0, 5 * time.Second, 35 * time.Second, 155 * time.Second, 755 * time.Second}

func TestFailingEventIsTriedBySchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		var dead graveyard
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead}))
		failing, others := series(t, "acc-1", 4), series(t, "acc-2", 4)
		broken := failing[1]
		handler := did.handler(func(e *inbox.Event) error {
			if e.EventID == broken.eventID {
				return errBroken
			}
			return nil
		})
		b := broker{}
		b.deliver(t.Context(), box, handler, append(failing, others...)...)
		b.wait()
		if diff := cmp.Diff(schedule, did.times(broken)); diff != "" {
			t.Error("tried at other times than the schedule's:", diff)
		}
		for _, m := range []message{failing[2], failing[3]} {
			if got := did.times(m); len(got) != 1 || got[0] < schedule[len(schedule)-1] {
				t.Errorf("version %d, which waits behind it, was handled at %v, want once after %v", m.version, got, schedule[len(schedule)-1])
			}
		}
		for _, m := range others {
			if got := did.times(m); len(got) != 1 || got[0] > time.Second {
				t.Errorf("another aggregate's was handled at %v, want once and at once", got)
			}
		}
		letters := dead.all()
		if len(letters) != 1 {
			t.Fatalf("%d dead letters, want 1", len(letters))
		}
		l := letters[0]
		if l.Consumer != "billing" || l.Reason != contracts.AttemptsExhausted || l.Record.EventID != broken.eventID || l.Target != "FUNNEL_CRITICAL" ||
			l.Record.Outbox != "skillOutbox" || string(l.Envelope) != string(broken.data) || len(l.Errors) != 5 || l.Attempts != 5 {
			t.Errorf("got %+v", l)
		}
		for n, e := range l.Errors {
			if e.Attempt != n+1 || e.Code != inbox.CodeFailed || e.Message != errBroken.Error() || e.Target != "billing" {
				t.Errorf("error %d is %+v", n, e)
			}
		}
	})
}

// A subscription with a backoff brings an event late, and never early.
func TestBackoffOfTheSubscriptionDelaysATry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		var dead graveyard
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead}))
		m := event(t, "acc-1", 1)
		b := broker{backoff: 60 * time.Second}
		b.deliver(t.Context(), box, did.handler(always), m)
		b.wait()
		got := did.times(m)
		if len(got) != len(schedule) {
			t.Fatalf("tried at %v, want %d times", got, len(schedule))
		}
		for n := 1; n < len(got); n++ {
			wait, want := got[n]-got[n-1], schedule[n]-schedule[n-1]
			if wait < want || wait > want+b.backoff+10*time.Second {
				t.Errorf("try %d comes after %v, want %v or up to a backoff more", n, wait, want)
			}
		}
	})
}

// The count of failures stands in the store: whatever process has the event goes on with it.
func TestRestartGoesOnWithTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		var dead graveyard
		store, m := inbox.NewMemory(), event(t, "acc-1", 1)
		for range 1000 {
			ctx, stop := context.WithTimeout(t.Context(), 7*time.Second)
			b := broker{}
			b.deliver(ctx, inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: &dead})), did.handler(always), m)
			b.wait()
			stop()
			if len(dead.all()) > 0 {
				break
			}
		}
		got := did.times(m)
		if len(got) != len(schedule) || len(dead.all()) != 1 {
			t.Fatalf("tried at %v and %d dead letters, want %d tries and one", got, len(dead.all()), len(schedule))
		}
		for n := range got {
			if late := got[n] - schedule[n]; late < 0 || late > time.Second {
				t.Errorf("try %d comes at %v, want %v", n+1, got[n], schedule[n])
			}
		}
	})
}

// However short a retention is forced: what fails is remembered until it is dead.
func TestFailuresAreCountedWhateverTheRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		var dead graveyard
		o := quiet(inbox.Options{DeadLetters: &dead, Retention: time.Minute, ForceRetention: true})
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		m := event(t, "acc-1", 1)
		ctx, stop := context.WithTimeout(t.Context(), 24*time.Hour)
		defer stop()
		b := broker{backoff: time.Second}
		b.deliver(ctx, inbox.New(inbox.NewMemory(), "billing", o), did.handler(always), m)
		b.wait()
		if len(dead.all()) != 1 || len(did.times(m)) != 5 {
			t.Errorf("%d dead letters after %d tries, want one after 5", len(dead.all()), len(did.times(m)))
		}
	})
}
