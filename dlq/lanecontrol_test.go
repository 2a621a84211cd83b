package dlq_test

import (
	"errors"
	"testing"

	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// What lanes there are is told in words, the most urgent first.
func TestALaneThatIsNotIsToldTheLanes(t *testing.T) {
	f := setup(t)
	_, err := f.Queue.SetLane(t.Context(), "FAST_LANE", true, dlqtest.Operator, "because")
	refusal, ok := errors.AsType[*dlq.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	if want := "the lanes are CRITICAL_LANE, STANDARD_LANE, BACKGROUND_LANE"; refusal.Hint != want {
		t.Errorf("the hint is %q, want %q", refusal.Hint, want)
	}
}
