package dlq_test

import (
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// Where a reason may be left out, one in which nothing can be seen is left out: a pause is
// not refused for want of what it does not need.
func TestReasonThatMayBeLeftOut(t *testing.T) {
	for name, reason := range map[string]string{"none": "", "spaces": " \t\n", "a zero-width space": "\u200b"} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			control, err := f.Queue.SetLane(t.Context(), contracts.BackgroundLane, true, dlqtest.Operator, reason)
			if err != nil || control.Reason != dlq.NoReason {
				t.Errorf("a pause: got %+v, %v, want the reason %q", control, err, dlq.NoReason)
			}
			f.Reviewable(1)
			b, err := f.Queue.StartBulk(t.Context(), dlq.BulkRequest{Filter: dlqtest.Granted, Actor: dlqtest.Operator, Reason: reason})
			if err != nil || b.Reason != dlq.NoReason {
				t.Fatalf("a bulk replay: got %+v, %v, want the reason %q", b, err, dlq.NoReason)
			}
			b, err = f.Queue.CancelBulk(t.Context(), b.ID, dlqtest.Operator, reason)
			if err != nil || b.EndReason != dlq.NoReason {
				t.Errorf("its end: got %+v, %v, want the reason %q", b, err, dlq.NoReason)
			}
		})
	}
}
