package operator

import (
	"testing"

	"outboxrelay/cmd/outbox-relay/adminapi"
)

func TestCountsOfAQueue(t *testing.T) {
	q := adminapi.WorkQueue{Statuses: []adminapi.QueueStatus{{Status: "pending", Count: 3}, {Status: "sent", Count: 100000, AtLeast: true}}}
	if got, want := counts(q), "3 pending, 100000+ sent"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	q.Other, q.OtherAtLeast = 2, true
	if got, want := counts(q), "3 pending, 100000+ sent, 2+ other"; got != want {
		t.Errorf("with others: got %q, want %q", got, want)
	}
}
