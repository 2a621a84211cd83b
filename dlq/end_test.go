package dlq

import (
	"testing"

	"outboxrelay/contracts"
)

func TestEndNamesNoTargetThatThereIsNot(t *testing.T) {
	e := &ending{result: Result{Errors: []contracts.AttemptError{
		{Code: "CONTRACT_VIOLATION", Message: "payload.id is missing"}, {Target: "FUNNEL", Code: "Internal", Message: "no"}, {Target: "FUNNEL", Message: "no"},
	}}}
	if got, want := e.reason(), "CONTRACT_VIOLATION: payload.id is missing; FUNNEL: Internal: no; FUNNEL: no"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}
