package replayer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func TestLinesAreByAggregateAndVersion(t *testing.T) {
	b := newBacklog(new(contracts.Catalog), 1)
	for n, i := range []*dlq.Item{
		{ID: "1", Outbox: "o", AggregateID: "a", AggregateVersion: 3},
		{ID: "2", Outbox: "o", AggregateID: "b", AggregateVersion: 1},
		{ID: "3", Outbox: "p", AggregateID: "a", AggregateVersion: 1},
		{ID: "4", Outbox: "o", AggregateID: "a", AggregateVersion: 2},
		{ID: "5", Outbox: "o"},
		{ID: "6", Outbox: "o", Replaying: &dlq.Request{}},
		{ID: "7", Outbox: "o", AggregateID: "b", AggregateVersion: 2, Replaying: &dlq.Request{}},
	} {
		i.NextReplayAt = noon.Add(time.Duration(n) * time.Second)
		b.keep(i)
	}
	var got [][]string
	for _, l := range b.inTurn() {
		var ids []string
		for _, w := range l.items {
			ids = append(ids, w.item.ID)
		}
		got = append(got, ids)
	}
	want := [][]string{{"2", "7"}, {"6"}, {"3"}, {"4", "1"}, {"5"}} // first those that somebody asked for, and what stands before them
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
