package dlq

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCancelledBulkKeepsItsEnd(t *testing.T) {
	known := &Bulk{ID: "b", Delivered: 3, Phase: PhaseRamp}
	got := &Bulk{ID: "b", State: BulkCancelled, EndedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), EndReason: "wrong filter"}
	want := *got
	want.Delivered, want.Phase = 3, PhaseRamp
	if writes := new(Queue).progressOn(got, known, &BulkEnd{BulkDone, "all through"}); len(writes) != 0 {
		t.Errorf("%d writes beside its own, want none", len(writes))
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("bulk replay (-want +got):\n%s", diff)
	}
}
