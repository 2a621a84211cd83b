package inbox_test

import (
	"errors"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// Messages in a form of their own are brought into the relay's, and one that cannot be is a dead letter
// that tells as much as is known.
func TestMessagesInAnotherForm(t *testing.T) {
	m := event(t, "acc-1", 1)
	foreign := map[string]string{"form": "another"}
	failure := errors.New("no such form")
	for name, err := range map[string]error{"sound": nil, "not to be read": failure} {
		t.Run(name, func(t *testing.T) {
			var did effects
			var dead graveyard
			box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{
				DeadLetters: &dead,
				Decode: func(data []byte, attributes map[string]string) ([]byte, map[string]string, error) {
					if string(data) != "foreign" || attributes["form"] != "another" {
						t.Errorf("it is given %q and %v", data, attributes)
					}
					return m.data, m.attributes, err
				},
			}))
			if !box.Deliver(t.Context(), []byte("foreign"), foreign, did.handler(nil)) {
				t.Fatal("it is not acknowledged")
			}
			switch {
			case err == nil && (len(did.calls) != 1 || did.calls[0].eventID != m.eventID):
				t.Errorf("handled are %+v, want the event", did.calls)
			case err != nil && (len(did.calls) != 0 || len(dead.letters) != 1):
				t.Errorf("handled are %+v and buried %+v, want it buried", did.calls, dead.letters)
			case err != nil:
				l := dead.letters[0]
				if l.Reason != contracts.ContractViolation || l.Record.EventID != m.eventID || l.Errors[0].Message != failure.Error() {
					t.Errorf("buried is %+v", l)
				}
			}
		})
	}
}

// A Decode that panics would end each process that the message comes to. Its text, which may hold
// a payload, is not told.
func TestDecodeThatPanics(t *testing.T) {
	var did effects
	var dead graveyard
	m := event(t, "acc-1", 1)
	box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{
		DeadLetters: &dead,
		Decode:      func([]byte, map[string]string) ([]byte, map[string]string, error) { panic("no such form: secret") },
	}))
	if !box.Deliver(t.Context(), m.data, m.attributes, did.handler(nil)) || len(did.calls) != 0 || len(dead.letters) != 1 {
		t.Fatalf("handled are %+v and buried %+v, want it acknowledged and buried", did.calls, dead.letters)
	}
	l := dead.letters[0]
	said := l.Errors[0].Message
	if l.Reason != contracts.ContractViolation || l.Record.EventID != m.eventID || !strings.HasPrefix(said, "panic of Options.Decode: string\n") || strings.Contains(said, "secret") {
		t.Errorf("buried is %+v", l)
	}
}
