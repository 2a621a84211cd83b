package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

func TestARunningBulkReplayTellsWhatCannotGoOn(t *testing.T) {
	b := admin.Bulk{State: dlq.BulkRunning, Phase: dlq.PhaseCanary, Total: 9, RatePerSecond: 1, Replaying: 5, Waiting: 4, HeldFor: map[string]int{"FUNNEL is out": 7}}
	if got, want := viewOf(b).heldUp(), " 7 dead letters cannot go on now (7: FUNNEL is out). They go on by themselves once that has changed."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.HeldFor = map[string]int{"an older dead letter of their aggregate comes first: 7f0c:acc-1:2": 1}
	if got, want := viewOf(b).heldUp(), " 1 dead letter cannot go on now (1: an older dead letter of their aggregate comes first: 7f0c:acc-1:2). It goes on by itself once that has changed."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.State = dlq.BulkCancelled
	if got := viewOf(b).heldUp(); got != "" {
		t.Errorf("one that was cancelled says %q", got)
	}
}

func TestAReplayTellsWhatItWaitsFor(t *testing.T) {
	for _, tc := range []struct {
		waits *admin.Waits
		want  string
	}{
		{nil, ", as otto asked"},
		{&admin.Waits{Targets: []string{"FUNNEL", "NOTIF_ROUTER"}}, "; it waits for FUNNEL, NOTIF_ROUTER, which did not answer when it was its turn"},
		{&admin.Waits{Behind: "7f0c:acc-1:2"}, "; it waits for an older dead letter of its aggregate, 7f0c:acc-1:2, which comes first"},
	} {
		d := &admin.DeadLetter{State: contracts.DeadAwaitingReview, Replaying: &admin.ReplayRequest{By: "otto", At: time.Now(), Waits: tc.waits}}
		var told telling
		told.standing(d, time.Now())
		if got := fmt.Sprint(told); !strings.Contains(got, tc.want) {
			t.Errorf("%q, want it to say %q", got, tc.want)
		}
	}
}
