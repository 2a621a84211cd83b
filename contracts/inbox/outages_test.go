package inbox_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

var errOut = &contracts.Failure{Kind: contracts.Outage, Code: "Unavailable"}

// An outage that lasts is asked less and less often, and its end is noticed within a minute or so.
func TestOutageThatLastsIsAskedLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hours = 10 * time.Hour
		var did effects
		start, b := time.Now(), broker{}
		out := event(t, "acc-1", 1)
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{}))
		b.deliver(t.Context(), box, did.handler(func(*inbox.Event) error {
			if time.Since(start) < hours {
				return errOut
			}
			return nil
		}), out)
		b.wait()
		times := did.times(out)
		if n := len(times); n < 5 || time.Duration(n) > hours/(30*time.Second) {
			t.Errorf("tried %d times in %v, want it at most every half minute", n, hours)
		}
		if first := times[1] - times[0]; first != 5*time.Second {
			t.Errorf("the first new try comes after %v, want the first delay", first)
		}
		if late := times[len(times)-1] - hours; late > time.Minute+10*time.Second {
			t.Errorf("its end is noticed after %v", late)
		}
		gaps := map[time.Duration]bool{}
		for n := 1; n < len(times); n++ {
			gaps[times[n]-times[n-1]] = true
		}
		if len(gaps) < len(times)/2 {
			t.Errorf("%d tries at %d intervals: those that met the outage together come together again", len(times), len(gaps))
		}
		if n := inbox.Outages(box); n != 0 {
			t.Errorf("%d events are remembered after it", n)
		}
	})
}

// A failure that counts ends a row of outages: the next one begins at the first delay.
func TestOutagesInARowEndWithAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did effects
		b, m := broker{}, event(t, "acc-1", 1)
		answers := []error{errOut, errOut, errOut, errBroken, errOut, nil}
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{Delays: []time.Duration{time.Second}, Hold: time.Hour}))
		b.deliver(t.Context(), box, did.handler(func(*inbox.Event) error {
			err := answers[0]
			answers = answers[1:]
			return err
		}), m)
		b.wait()
		times := did.times(m)
		if len(times) != 6 || times[5]-times[4] != time.Second || times[3]-times[2] < 2*time.Second || times[4]-times[3] != time.Second {
			t.Errorf("tried at %v, want a growing wait, and the first delay after the failure", times)
		}
	})
}

// However many events meet an outage, a bounded number is remembered.
func TestOutagesAreRememberedWithinBounds(t *testing.T) {
	box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{}))
	for n := range 25_000 {
		inbox.MeetOutage(box, fmt.Sprint(n))
	}
	if n := inbox.Outages(box); n != 10_000 {
		t.Errorf("%d are remembered, want 10,000", n)
	}
}

// A first delay above a minute stands for all of them.
func TestOutageWithALongFirstDelay(t *testing.T) {
	box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{Delays: []time.Duration{time.Hour}}))
	for range 100 {
		if wait := inbox.MeetOutage(box, "e"); wait != time.Hour {
			t.Fatalf("it waits %v, want an hour", wait)
		}
	}
}
