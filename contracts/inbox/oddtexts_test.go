package inbox_test

import (
	"bytes"
	"strings"
	"testing"

	"outboxrelay/contracts/inbox"
)

// A store may not be able to hold a text with U+0000, nor its index one that is longer than
// any that the relay sends: it is not asked, also where no catalog judges.
func TestOddTextsInWhatNamesAnEvent(t *testing.T) {
	for name, odd := range map[string]struct{ before, fault string }{
		"a NUL":  {`\u0000`, "holds the character U+0000"},
		"length": {strings.Repeat("x", 1024), "bytes long, want 1024 at most"},
	} {
		for _, field := range []string{"event_name", "trace_id", "idempotency_key", "aggregate_id", "producer"} {
			t.Run(name+" in "+field, func(t *testing.T) {
				var did effects
				var dead graveyard
				box := inbox.New(inbox.NewMemory(), "billing", quiet(inbox.Options{DeadLetters: &dead}))
				m := event(t, "acc-1", 1)
				data := bytes.Replace(m.data, []byte(`"`+field+`":"`), []byte(`"`+field+`":"`+odd.before), 1)
				if !box.Deliver(t.Context(), data, m.attributes, did.handler(nil)) {
					t.Error("it is given back, want it acknowledged")
				}
				letters := dead.all()
				if len(letters) != 1 || len(did.calls) != 0 {
					t.Fatalf("handled %d times, %d dead letters, want one alone", len(did.calls), len(letters))
				}
				if got := letters[0].Errors[0].Message; !strings.HasPrefix(got, field+" ") || !strings.HasSuffix(got, odd.fault) {
					t.Errorf("dead-lettered as %q, want %s and %q", got, field, odd.fault)
				}
			})
		}
	}
}
