package inbox_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"outboxrelay/contracts/inbox"
)

// textOfPayload is an error whose text is asked for in vain, and which says so with a payload.
type textOfPayload struct{}

func (textOfPayload) Error() string { panic("payload: secret") }

// What a handler panics with may hold a payload: it is in no log, in no store and in no dead letter.
func TestPanicIsToldByItsType(t *testing.T) {
	for name, test := range map[string]struct {
		handle inbox.Handler
		want   string // what the dead letter's error begins with
	}{
		"a text":    {func(context.Context, *inbox.Event) error { panic("payload: secret") }, "panic: string\n"},
		"an error":  {func(context.Context, *inbox.Event) error { panic(errors.New("payload: secret")) }, "panic: *errors.errorString\n"},
		"runtime's": {func(_ context.Context, e *inbox.Event) error { return []error{}[e.Attempt] }, "panic: runtime error: index out of range [1] with length 0\n"},
		"an error's text": {
			func(context.Context, *inbox.Event) error { return textOfPayload{} },
			"the handler returned a inbox_test.textOfPayload that does not say what it is: panic: string",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			var dead graveyard
			box := inbox.New(inbox.NewMemory(), "billing", inbox.Options{DeadLetters: &dead, MaxTries: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
			m := event(t, "acc-1", 1)
			if ack := box.Deliver(t.Context(), m.data, m.attributes, test.handle); !ack || len(dead.letters) != 1 {
				t.Fatalf("acknowledged is %v and buried %+v, want it buried", ack, dead.letters)
			}
			said := dead.letters[0].Errors[0]
			if said.Code != inbox.CodePanic || !strings.HasPrefix(said.Message, test.want) || strings.Contains(said.Message, "secret") {
				t.Errorf("the dead letter says %+v, want %q", said, test.want)
			}
			if !strings.Contains(log.String(), "handle event") || strings.Contains(log.String(), "secret") {
				t.Errorf("the log is %s", &log)
			}
		})
	}
}
