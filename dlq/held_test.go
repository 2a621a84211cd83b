package dlq_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

func TestHeldIsCountedForEachOutbox(t *testing.T) {
	f := setup(t)
	const aggregate = "acc/1%2F"
	blocked := f.Die("accOutbox", "RoleChanged", aggregate, 1)
	f.Hold("accOutbox", "WalletDeducted", aggregate, 3)
	f.Hold("orgOutbox", "SkillRecognitionGranted", aggregate, 2)
	f.Hold("orgOutbox", "SkillRecognitionGranted", "another", 4)
	f.HoldElsewhere("billOutbox", aggregate, 2)
	outboxes, err := f.Queue.Outboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Queue.Held(t.Context(), outboxes, aggregate)
	if err != nil {
		t.Fatal(err)
	}
	want := []dlq.Held{{Outbox: "accOutbox", Records: 3}, {Outbox: "orgOutbox", Records: 2}, {Outbox: "billOutbox", Records: 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	freeze, err := f.Queue.Freeze(t.Context(), aggregate)
	if err != nil || freeze.AggregateID != aggregate || freeze.State != dlq.Frozen {
		t.Errorf("freeze %+v, %v", freeze, err)
	}
	open, err := f.Queue.Overtaken(t.Context(), aggregate)
	if err != nil || len(open) != 1 || open[0].ID != blocked.ID {
		t.Errorf("overtaken %v, %v", open, err)
	}
	_, err = f.Queue.Freeze(t.Context(), "another")
	dlqtest.Refused(t, err, dlq.NotFound)
}
