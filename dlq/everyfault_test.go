package dlq

import (
	"testing"
	"time"

	"outboxrelay/contracts"
)

func TestAlertAndGroupTellEveryFault(t *testing.T) {
	died := time.Unix(1, 0)
	fault := func(message string) contracts.AttemptError {
		return contracts.AttemptError{At: died, Code: string(contracts.ContractViolation), Message: message}
	}
	before := contracts.AttemptError{At: died.Add(-time.Second), Attempt: 1, Target: "T", Code: "Internal", Message: "no"}
	i := &Item{ID: "x", EventType: "E", DeadAt: died, Errors: []contracts.AttemptError{before, fault("traceId is missing"), fault("payload is 7 bytes"), fault("payload is 7 bytes")}}
	if got, want := alertOf(i).LastError, "CONTRACT_VIOLATION: traceId is missing; payload is 7 bytes"; got != want {
		t.Errorf("the alert tells %q, want %q", got, want)
	}
	if got, want := GroupOf(i).Error, "traceId is missing; payload is <n> bytes"; got != want {
		t.Errorf("the group is that of %q, want %q", got, want)
	}
	i.Errors = []contracts.AttemptError{before, {At: died, Attempt: 2, Target: "T", Code: "Internal", Message: "no message 9"}}
	if got, want := GroupOf(i).Error, "no message <n>"; got != want {
		t.Errorf("after two attempts the group is that of %q, want %q", got, want)
	}
}
