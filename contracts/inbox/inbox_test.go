package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

var errBroken = errors.New("it is broken")

func always(*inbox.Event) error { return errBroken }

func TestDuplicatesHaveNoEffect(t *testing.T) {
	var did effects
	box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{}))
	m := event(t, "acc-1", 1)
	for range 3 {
		if !box.Deliver(t.Context(), m.data, m.attributes, did.handler(nil)) {
			t.Error("it is given back, want it acknowledged")
		}
	}
	if n := len(did.of(m)); n != 1 {
		t.Errorf("handled %d times, want once", n)
	}
	other := inbox.New(inbox.NewMemory(), "mail", quiet(inbox.Options{}))
	if !other.Deliver(t.Context(), m.data, m.attributes, did.handler(nil)) || len(did.of(m)) != 2 {
		t.Error("another consumer did not handle it")
	}
}

func TestDuplicateWaitsWhileTheFirstIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 3 * time.Second
		var did effects
		store := inbox.NewMemory()
		m := event(t, "acc-1", 1)
		start, b := time.Now(), broker{}
		ended := make(chan time.Duration, 5)
		for range cap(ended) { // each in a process of its own
			box := inbox.New(store, "billing", quiet(inbox.Options{}))
			b.wg.Go(func() {
				ack := box.Deliver(t.Context(), m.data, m.attributes, did.handler(func(*inbox.Event) error {
					pass(takes)
					return nil
				}))
				if !ack {
					t.Error("it is given back, want it acknowledged")
				}
				ended <- time.Since(start)
			})
		}
		b.wait()
		if n := len(did.of(m)); n != 1 {
			t.Errorf("handled %d times, want once", n)
		}
		for range cap(ended) {
			if after := <-ended; after < takes {
				t.Errorf("a duplicate is acknowledged after %v, before the first was handled", after)
			}
		}
	})
}

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

func TestNothingIsLostWithoutDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{}))
		m, b := event(t, "acc-1", 1), broker{}
		b.deliver(t.Context(), box, did.handler(func(e *inbox.Event) error {
			if e.Attempt <= 20 {
				return errBroken
			}
			return nil
		}), m)
		b.wait()
		if n := len(did.of(m)); n != 21 {
			t.Errorf("tried %d times, want until it succeeds", n)
		}
	})
}

func TestDeadLetterQueueIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		dead := graveyard{fail: errBroken}
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead, Delays: []time.Duration{time.Second}, MaxTries: 2}))
		m, b := event(t, "acc-1", 1), broker{backoff: time.Second}
		b.deliver(t.Context(), box, did.handler(always), m)
		pass(time.Hour)
		dead.mu.Lock()
		dead.fail = nil
		dead.mu.Unlock()
		b.wait()
		if n, letters := len(did.of(m)), len(dead.all()); n != 2 || letters != 1 {
			t.Errorf("tried %d times and %d dead letters, want 2 and 1", n, letters)
		}
	})
}

func TestContractIsJudgedFirst(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(body map[string]any)
		want   string // of the fault; "": it is sound
	}{
		{"sound", func(map[string]any) {}, ""},
		{"unknown fields", func(body map[string]any) {
			body["sent_by"] = map[string]any{"x": 1}
			body["payload"].(map[string]any)["new_field"] = "x"
		}, ""},
		{"no event_id", func(body map[string]any) { delete(body, "event_id") }, "event_id is missing"},
		{"event_id is no UUID", func(body map[string]any) { body["event_id"] = "7" }, "event_id is not a UUID"},
		{"no event_name", func(body map[string]any) { delete(body, "event_name") }, "event_name is missing"},
		{"no event_version", func(body map[string]any) { delete(body, "event_version") }, "event_version is missing"},
		{"no occurred_at", func(body map[string]any) { delete(body, "occurred_at") }, "occurred_at is missing"},
		{"occurred_at is no time", func(body map[string]any) { body["occurred_at"] = "soon" }, "occurred_at is"},
		{"no producer", func(body map[string]any) { delete(body, "producer") }, "producer is missing"},
		{"no trace_id", func(body map[string]any) { delete(body, "trace_id") }, "trace_id is missing"},
		{"no idempotency_key", func(body map[string]any) { delete(body, "idempotency_key") }, "idempotency_key is missing"},
		{"no aggregate_id", func(body map[string]any) { delete(body, "aggregate_id") }, "aggregate_id is missing"},
		{"no aggregate_version", func(body map[string]any) { delete(body, "aggregate_version") }, "aggregate_version is missing"},
		{"aggregate_version is text", func(body map[string]any) { body["aggregate_version"] = "1" }, "aggregate_version is a string"},
		{"no payload", func(body map[string]any) { delete(body, "payload") }, "payload is missing"},
		{"payload is null", func(body map[string]any) { body["payload"] = nil }, "payload is null"},
		{"an unknown event", func(body map[string]any) { body["event_name"] = "SkillForgotten" }, "event_name is"},
		{"an unknown version", func(body map[string]any) { body["event_version"] = 2 }, "event_version is 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var did effects
			var dead graveyard
			box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{
				Catalog: catalog, DeadLetters: &dead, Versions: map[string][]int64{"SkillXpAdded": {1}, "SkillXpDeducted": {1}},
			}))
			m := event(t, "acc-1", 1)
			var body map[string]any
			if err := json.Unmarshal(m.data, &body); err != nil {
				t.Fatal(err)
			}
			test.change(body)
			data, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			if !box.Deliver(t.Context(), data, m.attributes, did.handler(nil)) {
				t.Error("it is given back, want it acknowledged")
			}
			letters := dead.all()
			if test.want == "" {
				if len(letters) != 0 || len(did.calls) != 1 {
					t.Fatalf("handled %d times, dead letters %+v; want it handled", len(did.calls), letters)
				}
				return
			}
			if len(letters) != 1 || len(did.calls) != 0 {
				t.Fatalf("handled %d times and %d dead letters, want none and one", len(did.calls), len(letters))
			}
			if l := letters[0]; l.Reason != contracts.ContractViolation || !strings.Contains(l.Errors[0].Message, test.want) {
				t.Errorf("got %s: %+v, want %q", l.Reason, l.Errors, test.want)
			}
		})
	}
}

// An event that names others is none of ours, whatever is wrong with it.
func TestEventForOthersIsAcknowledged(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	name := func(outbox, consumer string) (understood map[string][]int64) {
		understood = make(map[string][]int64)
		for n, e := range catalog.Outbox(outbox).Events {
			named := *e
			named.Consumers = []string{consumer}
			catalog.Outbox(outbox).Events[n] = &named
			understood[e.Type] = []int64{7}
		}
		return understood
	}
	name("wsOutbox", "billing")
	another := name("skillOutbox", "analytics")
	for consumer, want := range map[string]int{"analytics": 1, "billing": 0, "unnamed": 1} {
		for _, versions := range []map[string][]int64{nil, another} {
			var did effects
			var dead graveyard
			box := inbox.New(inbox.NewMemory(), consumer, quiet(inbox.Options{Catalog: catalog, DeadLetters: &dead, Versions: versions}))
			m := event(t, "acc-1", 1)
			if !box.Deliver(t.Context(), m.data, m.attributes, did.handler(nil)) {
				t.Errorf("%s gives it back", consumer)
			}
			handled, letters := len(did.calls), len(dead.all())
			if handled+letters != want || versions != nil && handled > 0 {
				t.Errorf("%s, which understands %v, handled %d, dead letters %d; want %d together", consumer, versions, handled, letters, want)
			}
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	var did effects
	var dead graveyard
	box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead}))
	for _, data := range []string{"", "no JSON", "[]", `{"event_id":`, "\xff"} {
		if !box.Deliver(t.Context(), []byte(data), map[string]string{"eventId": "e-1", "traceId": "t-1"}, did.handler(nil)) {
			t.Errorf("%q is given back", data)
		}
	}
	letters := dead.all()
	if len(letters) != 5 || len(did.calls) != 0 {
		t.Fatalf("%d dead letters and %d calls, want 5 and none", len(letters), len(did.calls))
	}
	if l := letters[1]; l.Record.EventID != "e-1" || l.Record.TraceID != "t-1" || string(l.Envelope) != "no JSON" || l.Record.IdempotencyKey == letters[2].Record.IdempotencyKey {
		t.Errorf("got %+v", l)
	}
}

func TestReplayReachesItsConsumerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var billing, mail effects
		var dead graveyard
		store := inbox.NewMemory()
		one := inbox.New(store, "billing", quiet(inbox.Options{DeadLetters: &dead}))
		two := inbox.New(store, "mail", quiet(inbox.Options{DeadLetters: &dead}))
		m := event(t, "acc-1", 1)
		mended := false
		handler := billing.handler(func(*inbox.Event) error {
			if mended {
				return nil
			}
			return errBroken
		})
		b := broker{}
		b.deliver(t.Context(), one, handler, m)
		b.wait()
		if !one.Deliver(t.Context(), m.data, m.attributes, handler) {
			t.Error("a duplicate of a dead event is given back")
		}
		mended = true
		m.attributes[contracts.AttrConsumer] = "billing"
		for range 2 {
			if !one.Deliver(t.Context(), m.data, m.attributes, handler) || !two.Deliver(t.Context(), m.data, m.attributes, mail.handler(nil)) {
				t.Error("the replay is given back")
			}
		}
		if n, m := len(billing.of(m)), len(mail.of(m)); n != 6 || m != 0 {
			t.Errorf("handled %d and %d times, want 5 failures and one replay, and none", n, m)
		}
	})
}

func TestOptionsAreJudged(t *testing.T) {
	for _, test := range []struct {
		name string
		o    inbox.Options
		want string
	}{
		{"none", inbox.Options{}, ""},
		{"a short retention", inbox.Options{Retention: time.Hour}, "retention is 1h0m0s, want 168h0m0s at least, or ForceRetention"},
		{"a short retention, forced", inbox.Options{Retention: time.Hour, ForceRetention: true}, ""},
		{"a long one", inbox.Options{Retention: 30 * 24 * time.Hour}, ""},
		{"a delay of nothing", inbox.Options{Delays: []time.Duration{time.Second, 0}}, "delay 2 is 0s, want it positive"},
		{"several", inbox.Options{Timeout: -1, MaxHeld: -1}, "MaxTries, MaxHeld, MaxHanging and MaxTakeovers want to be positive\ntimeout is -1ns, want it positive"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := test.o.Validate(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
