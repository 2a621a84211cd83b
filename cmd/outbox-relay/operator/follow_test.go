package operator

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/dlq"
)

func TestProgressOnATerminal(t *testing.T) {
	var out strings.Builder
	p := &progress{w: &out, terminal: true}
	p.show(adminapi.Bulk{State: dlq.BulkRunning, Phase: "ramp", Total: 4, Delivered: 2})
	p.end()
	want := "\r\x1b[K[###############...............] 2 of 4: 2 delivered, 0 failed, 0 passed over, 0 in delivery; ramp\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("bar (-want +got):\n%s", diff)
	}
}

func TestProgressTellsWhatCannotGoOn(t *testing.T) {
	var out strings.Builder
	p := &progress{w: &out}
	b := adminapi.Bulk{State: dlq.BulkRunning, Phase: dlq.PhaseRamp, Total: 9, Delivered: 2, Replaying: 5, Waiting: 2, HeldFor: map[string]int{"FUNNEL is\x1b out": 7}}
	p.show(b)
	b.State, b.Replaying, b.Waiting, b.Delivered = dlq.BulkDone, 0, 0, 9
	p.show(b)
	want := "2 of 9: 2 delivered, 0 failed, 0 passed over, 5 in delivery; ramp; cannot go on now: 7: FUNNEL is\uFFFD out\n" +
		"9 of 9: 9 delivered, 0 failed, 0 passed over, 0 in delivery; done\n"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Who interrupts before the service has answered is promised nothing: there may be no such bulk replay, or it has
// ended.
func TestFollowingInterruptedBeforeTheFirstAnswer(t *testing.T) {
	d, _, _ := absent(t, 0, time.Hour, adminapi.Bulk{}, adminapi.Bulk{})
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	err := d.follow(ctx, "b", false)
	if err == nil || shell.Code(err) != shell.ExitFailed || !strings.Contains(err.Error(), "interrupted before the service told of bulk replay b") || strings.Contains(err.Error(), "goes on;") {
		t.Errorf("exit code %d, told %v; want %d, and that it was interrupted", shell.Code(err), err, shell.ExitFailed)
	}
	if err := d.follow(ctx, "b", true); shell.Code(err) != shell.ExitGoesOn {
		t.Errorf("of a bulk replay that is known: exit code %d, want %d", shell.Code(err), shell.ExitGoesOn)
	}
}

// A state that this version does not know, as of a newer service, is no end, and nothing to wait in.
func TestFollowingEndsAtAStateOfAnotherVersion(t *testing.T) {
	b := adminapi.Bulk{State: "paused", Total: 2}
	d, stdout, _ := absent(t, 0, time.Hour, b, b)
	d.json = true
	err := d.follow(t.Context(), "b", false)
	if shell.Code(err) != shell.ExitGoesOn || !strings.Contains(err.Error(), `is "paused", a state of another version`) {
		t.Errorf("exit code %d, told %v", shell.Code(err), err)
	}
	if !strings.Contains(stdout.String(), "paused") {
		t.Errorf("it prints %q, want the bulk replay", stdout)
	}
}

func TestEndTellsWhyDeadLettersWerePassedOver(t *testing.T) {
	reasons := map[string]int{"they were closed\x1b[2J meanwhile": 1, "an older dead letter comes first": 2}
	for _, tc := range []struct {
		name string
		bulk adminapi.Bulk
		want string // "": nothing is missing
	}{
		{"all delivered", adminapi.Bulk{State: dlq.BulkDone, Total: 2, Delivered: 2}, ""},
		{
			"some passed over",
			adminapi.Bulk{State: dlq.BulkDone, Total: 4, Delivered: 1, Skipped: 3, SkippedFor: reasons, EndReason: "each item has ended"},
			"not all is delivered: 1 of 4 were delivered, 0 failed, 3 were passed over (2: an older dead letter comes first; 1: they were closed\uFFFD[2J meanwhile)",
		},
		{
			"nobody relays it",
			adminapi.Bulk{State: dlq.BulkStopped, Total: 8, Skipped: 8, SkippedFor: map[string]int{"nobody has it": 8}, EndReason: "nothing of it could be replayed: 8: nobody has it"},
			"the bulk replay was stopped: nothing of it could be replayed: 8: nobody has it; 0 of 8 were delivered, 0 failed, 8 were passed over",
		},
		{
			"by a service that counts no reasons",
			adminapi.Bulk{State: dlq.BulkDone, Total: 1, Skipped: 1},
			"not all is delivered: 0 of 1 were delivered, 0 failed, 1 were passed over",
		},
	} {
		got := ""
		if err := endOf(tc.bulk); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
