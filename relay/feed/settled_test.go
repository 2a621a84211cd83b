package feed

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

// What is remembered of a document is its latest settlement. What is not is older than
// a number of others and than a while, or older than the most that are remembered; and
// the time of what was forgotten is not before its.
func TestRecentRemembersTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRecent(rapid.IntRange(1, 4).Draw(t, "least"), rapid.IntRange(4, 12).Draw(t, "most"))
		now := int64(1_000)
		const disorder = 500 // ms, of commits that end in another order than they were made
		type settlement struct {
			settled
			number int
			at     int64
		}
		last := make(map[string]settlement)
		for i, n := range rapid.SliceOf(rapid.IntRange(0, 40)).Draw(t, "documents") {
			now += rapid.SampledFrom([]int64{0, 1, 700, 3_000}).Draw(t, "later")
			s := settlement{number: i, at: now - rapid.Int64Range(0, disorder).Draw(t, "earlier")}
			if s.settled = (settled{at: instantOf(at(s.at))}); rapid.Bool().Draw(t, "deleted") {
				s.settled = settled{created: instantOf(at(s.at)), since: instantOf(at(s.at))}
			}
			last[fmt.Sprint(n)] = s
			r.add(fmt.Sprint(n), s.settled)

			if n := r.young.size() + r.old.size(); n > 2*r.most {
				t.Fatalf("%d are remembered, want %d at most", n, 2*r.most)
			}
			for id, s := range last {
				got, known := r.of(documentOf(id))
				switch after := i - s.number; {
				case known && got != s.settled:
					t.Fatalf("%s: remembered is %+v, want %+v", id, got, s.settled)
				case known:
				case r.forgotten < instantOf(at(s.at)):
					t.Fatalf("%s is forgotten, but nothing of its time", id)
				case after < r.least, after < r.most && now-s.at < settledFor.Milliseconds()-disorder:
					t.Fatalf("%s is forgotten after %d others and %d ms", id, after, now-s.at)
				}
			}
		}
	})
}

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

// settles plays n records of a feed that are read and settled within that time.
func settles(f *Feed, n int, from time.Time, within time.Duration) {
	for i := range n {
		now := from.Add(within * time.Duration(i) / time.Duration(n))
		r := f.read(Sight{ID: fmt.Sprint(f.Lane, now.UnixMilli(), i), UpdateTime: now, ReadTime: now})
		f.machine.isSettled(r, now)
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
		flood contracts.Lane // where more is settled after it than is remembered; of which what comes until 102,010 is forgotten
		seen  Sight
		want  Judgement
	}{
		{"marked, then a flood in another lane", marked, contracts.BackgroundLane, read, Known},
		{"deleted, then a flood in another lane", deleted, contracts.BackgroundLane, read, Known},
		{"marked, then a flood in its lane", marked, contracts.CriticalLane, read, Doubtful},
		{"deleted, then a flood in its lane", deleted, contracts.CriticalLane, read, Doubtful},
		{
			"read after what is forgotten", marked, contracts.CriticalLane,
			Sight{ID: "old", UpdateTime: at(1_000), ReadTime: at(102_010).Add(readSkew)},
			Unknown,
		},
		{
			"written after what is forgotten", marked, contracts.CriticalLane,
			Sight{ID: "new", UpdateTime: at(102_011), ReadTime: at(102_012)},
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
			settles(flooded, leastSettled, at(102_010), 0)
			settles(flooded, leastSettled+2, at(200_000), 2*settledFor)
			if got, _ := m.Judge(test.seen, contracts.CriticalLane); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// A lane that keeps up reads nothing again, however fast it is.
func TestNothingIsReadAgainWhileALaneKeepsUp(t *testing.T) {
	for _, rate := range []int{100, 1_000, 12_000} { // a second
		m := New()
		f := m.AddFeed(contracts.StandardLane, 10, room(1<<30))
		for i := range 5 * max(rate, leastSettled) { // a backlog
			now := at(1_000_000).Add(time.Duration(i) * time.Second / time.Duration(rate))
			s := Sight{ID: fmt.Sprint(i), CreateTime: at(int64(i)), UpdateTime: at(int64(i)), ReadTime: now}
			if j, _ := m.Judge(s, f.Lane); j != Unknown {
				t.Fatalf("record %d of %d a second: got %v, want to take it", i, rate, j)
			}
			m.isSettled(f.read(s), now.Add(time.Second))
		}
	}
}
