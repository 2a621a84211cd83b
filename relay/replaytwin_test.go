package relay

import (
	"context"
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// diedLate is a store whose record was dead-lettered by an owner that had lost its lease,
// after this one had read it.
type diedLate struct {
	Store
	key string
}

func (s diedLate) Get(_ context.Context, _, id string) (Doc, bool, error) {
	fields := map[string]any{contracts.FieldStatus: string(contracts.Dead), contracts.FieldIdempotencyKey: s.key}
	return Doc{ID: id, UpdateTime: time.Now(), Content: letterContent{fields}}, true, nil
}

// A record that is in memory as its dead letter is replayed does not go to its targets
// besides; where it has been meanwhile, the replay does not go.
func TestAReplayTakesThePlaceOfTheRecordInMemory(t *testing.T) {
	r, catalog := newTestRelay(t)
	e := testEntry(t, r, 0)
	e.rec.IdempotencyKey = "k"
	r.store = diedLate{key: "k"}
	r.shares.add(e.outbox)
	p := &replay{item: &dlq.Item{}, rec: e.rec, share: e.outbox.share, lane: e.lane}
	p.targets = slices.Clone(catalog.Outbox("schedOutbox").Route("ScheduleAssigned").Targets)
	p.missing = slices.Clone(p.targets)
	if err := r.skipDelivered(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if !e.Over() {
		t.Error("the record in memory is still to be delivered")
	}
	e.rec.DeliveredTargets = []string{"FUNNEL"} // its turn had begun
	p.skipTwins()
	if want := []string{"NOTIF_ROUTER"}; !slices.Equal(p.targets, want) || !slices.Equal(p.missing, want) {
		t.Errorf("the replay goes to %v, and is to reach %v, want %v", p.targets, p.missing, want)
	}
}
