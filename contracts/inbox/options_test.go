package inbox_test

import (
	"testing"
	"time"

	"outboxrelay/contracts/inbox"
)

func TestOptionsAreJudged(t *testing.T) {
	for _, test := range []struct {
		name string
		o    inbox.Options
		want string
	}{
		{"none", inbox.Options{}, ""},
		{"a short retention", inbox.Options{Retention: time.Hour}, "retention is 1h0m0s, want 168h0m0s at least, or ForceRetention"},
		{"a short retention, forced", inbox.Options{Retention: time.Hour, ForceRetention: true}, ""},
		{
			"a retention shorter than a lease",
			inbox.Options{Retention: 44 * time.Second, ForceRetention: true},
			"retention is 44s, want 45s at least (timeout and three times grace), as an event is forgotten while it is handled otherwise",
		},
		{"a retention of a lease", inbox.Options{Retention: 45 * time.Second, ForceRetention: true}, ""},
		{
			"a timeout beyond the retention",
			inbox.Options{Timeout: 200 * time.Hour},
			"retention is 168h0m0s, want 200h0m15s at least (timeout and three times grace), as an event is forgotten while it is handled otherwise",
		},
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
