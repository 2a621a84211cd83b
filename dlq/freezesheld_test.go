package dlq_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
)

func TestHeldIsCountedForEachOutbox(t *testing.T) {
	f := setup(t)
	const aggregate = "acc/1%2F"
	blocked := f.die("accOutbox", "RoleChanged", aggregate, 1)
	f.hold("accOutbox", "WalletDeducted", aggregate, 3)
	f.hold("orgOutbox", "SkillRecognitionGranted", aggregate, 2)
	f.hold("orgOutbox", "SkillRecognitionGranted", "another", 4)
	got, err := f.queue.Held(t.Context(), aggregate)
	if err != nil {
		t.Fatal(err)
	}
	want := []dlq.Held{{Outbox: "accOutbox", Records: 3}, {Outbox: "orgOutbox", Records: 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	freeze, err := f.queue.Freeze(t.Context(), aggregate)
	if err != nil || freeze.AggregateID != aggregate || freeze.State != dlq.Frozen {
		t.Errorf("freeze %+v, %v", freeze, err)
	}
	open, err := f.queue.Overtaken(t.Context(), aggregate)
	if err != nil || len(open) != 1 || open[0].ID != blocked.ID {
		t.Errorf("overtaken %v, %v", open, err)
	}
	_, err = f.queue.Freeze(t.Context(), "another")
	refused(t, err, dlq.NotFound)
}
