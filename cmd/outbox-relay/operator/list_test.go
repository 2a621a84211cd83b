package operator

import (
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/contracts"
)

func TestLastErrorIsEveryFault(t *testing.T) {
	died := time.Unix(1, 0)
	fault := func(message string) adminapi.Attempt {
		return adminapi.Attempt{Time: died, Code: string(contracts.ContractViolation), Message: message}
	}
	i := adminapi.Item{Errors: []adminapi.Attempt{{Time: died, Code: "Internal", Message: "no"}, fault("traceId is missing"), fault("payload is missing")}}
	if got, want := lastError(i), "CONTRACT_VIOLATION: traceId is missing; payload is missing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnAggregateIsToldWithTheVersionThatItHas(t *testing.T) {
	for want, version := range map[string]*int64{"a": nil, "a v0": new(int64(0)), "a v3": new(int64(3))} {
		if got := aggregateOf("a", version); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
