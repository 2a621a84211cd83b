package operator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/contracts"
)

func TestStory(t *testing.T) {
	died := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	item := func(change func(*adminapi.Item)) adminapi.Item {
		i := adminapi.Item{
			EventType: "E", AggregateVersion: new(int64(3)), AggregateID: "a", Outbox: "o", Lane: "L", Reason: contracts.AttemptsExhausted, Attempts: 3, DeadAt: died,
			Tier: contracts.ReviewRequired, State: contracts.DeadAwaitingReview, Errors: []adminapi.Attempt{{Target: "T", Code: "Internal", Message: "no"}},
		}
		change(&i)
		return i
	}
	since := moment(died)
	for _, tc := range []struct {
		name   string
		change func(*adminapi.Item)
		want   string
	}{
		{"exhausted", func(*adminapi.Item) {}, "E version 3 of a (o, L) failed 3 attempts, last at T (Internal: no), and is a dead letter since " + since + ". It waits for an operator."},
		{"a contract broken", func(i *adminapi.Item) {
			i.Reason, i.Errors = contracts.ContractViolation, []adminapi.Attempt{{Code: "CONTRACT_VIOLATION", Message: "x is missing"}}
			i.Attempts = 0
		}, "E version 3 of a (o, L) was found to break its contract, with no attempt counted, last at the check (CONTRACT_VIOLATION: x is missing), and is a dead letter since " + since + ". It waits for an operator."},
		{"without a version", func(i *adminapi.Item) {
			i.Reason, i.Errors, i.Attempts, i.AggregateVersion = contracts.ContractViolation, nil, 0, nil
		}, "E of a (o, L), without a version, was found to break its contract, with no attempt counted, and is a dead letter since " + since + ". It waits for an operator."},
		{"a contract that broke later", func(i *adminapi.Item) {
			i.Reason, i.Attempts, i.Errors = contracts.ContractViolation, 2, nil
		}, "E version 3 of a (o, L) was found to break its contract, after 2 attempts, and is a dead letter since " + since + ". It waits for an operator."},
		{"a permanent failure", func(i *adminapi.Item) { i.Reason, i.Errors = contracts.PermanentFailure, nil }, "E version 3 of a (o, L) met a failure that counts as permanent, and is a dead letter since " + since + ". It waits for an operator."},
		{"restored", func(i *adminapi.Item) {
			i.Reason, i.Errors = contracts.Restored, []adminapi.Attempt{{Code: "RESTORED", Message: "it was waiting"}}
		}, "E version 3 of a (o, L) was waiting in an export of Firestore, so that nobody knows whether it was delivered, and is a dead letter since " + since + ". It waits for an operator."},
		{"replayed in vain", func(i *adminapi.Item) {
			i.Replays, i.Errors = 1, append(i.Errors, adminapi.Attempt{Time: died.Add(time.Hour), Target: "U", Code: "NotFound", Message: "gone"})
		}, "E version 3 of a (o, L) failed 3 attempts, last at T (Internal: no), and is a dead letter since " + since + ". 1 replay has ended since, and failed last at U (NotFound: gone). It waits for an operator."},
		{"scheduled", func(i *adminapi.Item) {
			i.State, i.NextReplayAt, i.Errors = contracts.DeadScheduled, died, nil
		}, "E version 3 of a (o, L) failed 3 attempts, and is a dead letter since " + since + ". Its next automatic replay is due at " + since + "."},
		{"blocked", func(i *adminapi.Item) { i.State, i.Errors = contracts.DeadBlocked, nil }, "E version 3 of a (o, L) failed 3 attempts, and is a dead letter since " + since + ". Nobody has authorized its replay. Whether its aggregate is frozen, dlq freezes tells."},
		{"replaying", func(i *adminapi.Item) { i.Replaying, i.Errors = &adminapi.Request{By: "bob"}, nil }, "E version 3 of a (o, L) failed 3 attempts, and is a dead letter since " + since + ". bob asked for a replay, which has not ended."},
		{"discarded", func(i *adminapi.Item) { i.State, i.Errors = contracts.DeadDiscarded, nil }, "E version 3 of a (o, L) failed 3 attempts, and is a dead letter since " + since + ". It was given up."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, story(item(tc.change))); diff != "" {
				t.Errorf("story (-want +got):\n%s", diff)
			}
		})
	}
}
