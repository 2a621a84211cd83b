package feed

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
		last := make(map[string]settled)
		for i, n := range ids {
			id := fmt.Sprint(n)
			if !slices.Contains(first, id) {
				first = append(first, id)
				if len(first) > size {
					first = first[1:]
				}
			}
			last[id] = settled{at: instantOf(at(int64(i)))}
			if rapid.Bool().Draw(t, "deleted") {
				last[id] = settled{created: instantOf(at(int64(i))), since: instantOf(at(int64(i + 1)))}
			}
			ring.add(id, last[id])
		}
		if ring.len() != len(first) || len(ring.order) != len(first) {
			t.Fatalf("the ring holds %d records, want %d", ring.len(), len(first))
		}
		for _, id := range first {
			if got, _ := ring.of(documentOf(id)); got != last[id] {
				t.Fatalf("%s was settled at %v, want %v", id, got, last[id])
			}
		}
	})
}

func (r *settledRing) len() int { return len(r.marked) + len(r.deleted) }

func TestInstantsHaveTheOrderOfTheirTimes(t *testing.T) {
	last := instantOf(time.Time{})
	if last != 0 {
		t.Errorf("the zero time is %d, want 0", last)
	}
	for _, year := range []int{1678, 1969, 1970, 1971, 2026, 2261} {
		for _, after := range []time.Duration{0, time.Nanosecond, time.Hour} {
			next := instantOf(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Add(after))
			if next <= last {
				t.Errorf("%v into %d is %d, not after %d", after, year, next, last)
			}
			last = next
		}
	}
}

// room is a memory that has room.
type room int64

func (r room) Limit() int64 { return int64(r) }
func (room) Room() bool     { return true }
func (room) Use(_, _ int64) {}

// read has a feed take a record, and isSettled has it settled.
func (f *Feed) read(s Sight) *Record {
	r := &Record{Sight: s, Home: f}
	f.machine.Step(Batch{Feed: f, Generation: f.generation, Records: []*Record{r}})
	return r
}

func (m *Machine) isSettled(r *Record, at time.Time) {
	s := &Settlement{Record: r, Kind: End}
	m.Step(Settle{s})
	m.Step(Settled{s, at})
}

// settles plays n records of a feed that are read and settled at one server time.
func settles(f *Feed, n int, at time.Time) {
	for i := range n {
		r := f.read(Sight{ID: fmt.Sprint(f.Lane, at.UnixMilli(), i), UpdateTime: at, ReadTime: at})
		f.machine.isSettled(r, at)
	}
}

// What was read before a record was settled is told apart from what is new for as
// long as it may come, whatever another lane does.
func TestSettlementsAreForgottenByLane(t *testing.T) {
	read := Sight{ID: "x", CreateTime: at(1_000), UpdateTime: at(1_000), ReadTime: at(100_000)}
	var deleted time.Time
	marked := at(100_010)
	tests := []struct {
		name  string
		end   time.Time      // of the record, which the critical lane read: of its mark; zero: it is deleted
		flood contracts.Lane // where as much is settled after it as is remembered
		seen  Sight
		want  Judgement
	}{
		{"marked, then a flood in another lane", marked, contracts.BackgroundLane, read, Known},
		{"deleted, then a flood in another lane", deleted, contracts.BackgroundLane, read, Known},
		{"marked, then a flood in its lane", marked, contracts.CriticalLane, read, Doubtful},
		{"deleted, then a flood in its lane", deleted, contracts.CriticalLane, read, Doubtful},
		{
			"read after what is forgotten", marked, contracts.CriticalLane,
			Sight{ID: "old", UpdateTime: at(1_000), ReadTime: at(100_010).Add(readSkew)},
			Unknown,
		},
		{
			"written after what is forgotten", marked, contracts.CriticalLane,
			Sight{ID: "new", UpdateTime: at(100_011), ReadTime: at(100_012)},
			Unknown,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := New()
			critical := m.AddFeed(contracts.CriticalLane, 10, room(1<<30))
			flooded := critical
			if test.flood != contracts.CriticalLane {
				flooded = m.AddFeed(test.flood, 10, room(1<<30))
			}
			if j, _ := m.Judge(read, contracts.CriticalLane); j != Unknown {
				t.Fatalf("judged %v", j)
			}
			m.isSettled(critical.read(read), test.end)
			settles(flooded, settledMemory, at(200_000))
			if got, _ := m.Judge(test.seen, contracts.CriticalLane); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if n := m.settled[test.flood].len(); n != settledMemory {
				t.Errorf("%d settlements of a lane are remembered, want %d", n, settledMemory)
			}
		})
	}
}

// A lane that keeps up reads nothing again, however fast it is.
func TestNothingIsReadAgainWhileALaneKeepsUp(t *testing.T) {
	m := New()
	f := m.AddFeed(contracts.StandardLane, 10, room(1<<30))
	for i := range 5 * settledMemory { // a backlog, 2,000 a second
		now := at(1_000_000 + int64(i)/2)
		s := Sight{ID: fmt.Sprint(i), CreateTime: at(int64(i)), UpdateTime: at(int64(i)), ReadTime: now}
		if j, _ := m.Judge(s, f.Lane); j != Unknown {
			t.Fatalf("record %d: got %v, want to take it", i, j)
		}
		m.isSettled(f.read(s), now.Add(50*time.Millisecond))
	}
}
