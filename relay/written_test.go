package relay

import (
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
)

// Each settlement hears of its own document, among what its commit writes besides.
func TestASettlementHearsWhenItsDocumentWasChanged(t *testing.T) {
	of := func(id string) *settlement {
		return &settlement{entry: &entry{rec: &contracts.Record{Outbox: "schedOutbox", ID: id}}}
	}
	write := func(collection, id string) Write { return Write{Collection: collection, ID: id} }
	batch := []*settlement{of("said before"), of("orphan"), of("deleted"), of("changed")}
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	written(batch, []Write{
		write("schedOutbox", "said before"), write(contracts.CollectionDeadLetters, "orphan"), write("schedOutbox", "deleted"),
		write(contracts.CollectionFrozen, "changed"), write("schedOutbox", "changed"),
	}, []time.Time{at(1), at(9), {}, at(3), at(9)})
	var got []int64
	for _, st := range batch {
		got = append(got, st.written.Unix())
	}
	if want := []int64{1, 9, 9, 9}; !slices.Equal(got, want) {
		t.Errorf("they were changed at %v, want %v", got, want)
	}
}
