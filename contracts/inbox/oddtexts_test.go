package inbox_test

import (
	"bytes"
	"strings"
	"testing"

	"outboxrelay/contracts/inbox"
)

// Also where no catalog judges: a store may not be able to hold such a text, and is not asked.
func TestNulInWhatNamesAnEvent(t *testing.T) {
	for _, field := range []string{"event_name", "trace_id", "idempotency_key", "aggregate_id", "producer"} {
		var did effects
		var dead graveyard
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead}))
		m := event(t, "acc-1", 1)
		data := bytes.Replace(m.data, []byte(`"`+field+`":"`), []byte(`"`+field+`":"\u0000`), 1)
		if !box.Deliver(t.Context(), data, m.attributes, did.handler(nil)) {
			t.Errorf("%s: it is given back, want it acknowledged", field)
		}
		letters := dead.all()
		if len(letters) != 1 || len(did.calls) != 0 || !strings.Contains(letters[0].Errors[0].Message, field+" holds the character U+0000") {
			t.Errorf("%s: handled %d times and dead letters %+v, want one for the character", field, len(did.calls), letters)
		}
	}
}

// The same of a text that is longer than any that the relay sends: the index of a store may not hold it.
func TestLongTextInWhatNamesAnEvent(t *testing.T) {
	for _, field := range []string{"event_name", "trace_id", "idempotency_key", "aggregate_id", "producer"} {
		var did effects
		var dead graveyard
		box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead}))
		m := event(t, "acc-1", 1)
		data := bytes.Replace(m.data, []byte(`"`+field+`":"`), []byte(`"`+field+`":"`+strings.Repeat("x", 1024)), 1)
		if !box.Deliver(t.Context(), data, m.attributes, did.handler(nil)) {
			t.Errorf("%s: it is given back, want it acknowledged", field)
		}
		letters := dead.all()
		if len(letters) != 1 || len(did.calls) != 0 || !strings.Contains(letters[0].Errors[0].Message, "bytes long, want 1024 at most") {
			t.Errorf("%s: handled %d times and dead letters %+v, want one for the length", field, len(did.calls), letters)
		}
	}
}
