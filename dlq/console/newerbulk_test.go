package console

import (
	"strings"
	"testing"

	"outboxrelay/dlq/admin"
)

func TestABulkReplayInAStateOfANewerVersionIsNotCalledThrough(t *testing.T) {
	v := viewOf(admin.Bulk{State: "paused", Total: 9, Delivered: 5, Waiting: 4, RatePerSecond: 1})
	if got := v.sentence(); !strings.Contains(got, "It is paused, which this version of the service does not know") || strings.Contains(got, "through") {
		t.Errorf("it says %q", got)
	}
	if v.Tone != "warn" || v.Word != "paused" {
		t.Errorf("it is shown as %q %q", v.Tone, v.Word)
	}
}
