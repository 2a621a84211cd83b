package relay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

func TestSettledRingRemembersTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		ids := rapid.SliceOf(rapid.IntRange(0, 12)).Draw(t, "ids")
		ring := newSettledRing(size)
		var first []string // in the order in which the ring took them up
		last := make(map[string]time.Time)
		for i, n := range ids {
			id := fmt.Sprint(n)
			if !slices.Contains(first, id) {
				first = append(first, id)
				if len(first) > size {
					first = first[1:]
				}
			}
			last[id] = at(int64(i))
			ring.add(id, settled{at: last[id]})
		}
		if len(ring.records) != len(first) || len(ring.order) != len(first) {
			t.Fatalf("the ring holds %d records, want %d", len(ring.records), len(first))
		}
		for _, id := range first {
			if got := ring.records[id].at; !got.Equal(last[id]) {
				t.Fatalf("%s was settled at %v, want %v", id, got, last[id])
			}
		}
	})
}

// settles plays n records of a feed that are read and settled at one server time.
func settles(f *feed, n int, at time.Time) {
	_, generation := f.start()
	for i := range n {
		e := &entry{feed: f, doc: Doc{ID: fmt.Sprint(f.lane, at.UnixMilli(), i), UpdateTime: at, ReadTime: at}, rec: &contracts.Record{}}
		f.admit(e, generation)
		f.ledger.remove(e, at)
	}
}

// What was read before a record was settled is told apart from what is new for as
// long as it may come, whatever another lane does.
func TestSettlementsAreForgottenByLane(t *testing.T) {
	read := Doc{ID: "x", CreateTime: at(1_000), UpdateTime: at(1_000), ReadTime: at(100_000)}
	deleted := func(l *ledger, e *entry) { l.deleted(e) }
	marked := func(l *ledger, e *entry) { l.remove(e, at(100_010)) }
	tests := []struct {
		name  string
		end   func(*ledger, *entry) // of the record, which the critical lane read
		flood contracts.Lane        // where as much is settled after it as is remembered
		doc   Doc
		want  consideration
	}{
		{"marked, then a flood in another lane", marked, contracts.BackgroundLane, read, considerKnown},
		{"deleted, then a flood in another lane", deleted, contracts.BackgroundLane, read, considerKnown},
		{"marked, then a flood in its lane", marked, contracts.CriticalLane, read, considerDoubt},
		{"deleted, then a flood in its lane", deleted, contracts.CriticalLane, read, considerDoubt},
		{
			"read after what is forgotten", marked, contracts.CriticalLane,
			Doc{ID: "old", UpdateTime: at(1_000), ReadTime: at(100_010).Add(readSkew)},
			considerTake,
		},
		{
			"written after what is forgotten", marked, contracts.CriticalLane,
			Doc{ID: "new", UpdateTime: at(100_011), ReadTime: at(100_012)},
			considerTake,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLedger()
			critical := newFeed(l, contracts.CriticalLane, 10, newMemory(1<<30, 2))
			flooded := critical
			if test.flood != contracts.CriticalLane {
				flooded = newFeed(l, test.flood, 10, newMemory(1<<30, 2))
			}
			e := &entry{feed: critical, doc: read, rec: &contracts.Record{}}
			if c, _ := critical.consider(read); c != considerTake || critical.admit(e, 0) != admitted {
				t.Fatal("not admitted")
			}
			test.end(l, e)
			settles(flooded, settledMemory, at(200_000))
			if got, _ := critical.consider(test.doc); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if n := len(l.settled[test.flood].records); n != settledMemory {
				t.Errorf("%d settlements of a lane are remembered, want %d", n, settledMemory)
			}
		})
	}
}

// A lane that keeps up reads nothing again, however fast it is.
func TestNothingIsReadAgainWhileALaneKeepsUp(t *testing.T) {
	l := newLedger()
	f := newFeed(l, contracts.StandardLane, 10, newMemory(1<<30, 1))
	_, generation := f.start()
	for i := range 5 * settledMemory { // a backlog, 2,000 a second
		now := at(1_000_000 + int64(i)/2)
		d := Doc{ID: fmt.Sprint(i), CreateTime: at(int64(i)), UpdateTime: at(int64(i)), ReadTime: now}
		if c, _ := f.consider(d); c != considerTake {
			t.Fatalf("record %d: got %v, want to take it", i, c)
		}
		e := &entry{feed: f, doc: d, rec: &contracts.Record{}}
		f.admit(e, generation)
		l.remove(e, now.Add(50*time.Millisecond))
	}
}
