package dlq_test

import (
	"testing"

	"outboxrelay/dlq"
)

func TestReasonSaysSomething(t *testing.T) {
	for _, reason := range []string{"", " \t\n", "\x00", "\u200b\u200d\ufeff", " \u00a0\u2060 ", "\x1b\x07"} {
		if _, err := dlq.ReasonOf(reason); dlq.AsRefusal(err) == nil {
			t.Errorf("%q is taken for a reason", reason)
		}
	}
	for given, want := range map[string]string{" because ": "because", ".": ".", "日本": "日本", "a\u200bb": "a\u200bb"} {
		if got, err := dlq.ReasonOf(given); err != nil || got != want {
			t.Errorf("%q: got %q and %v, want %q", given, got, err, want)
		}
	}
}
