package feed

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// gated is a feed with the records of one aggregate, for target A alone.
type gated struct {
	*testing.T
	machine *Machine
	feed    *Feed
}

func newGated(t *testing.T) *gated {
	m := New()
	return &gated{t, m, m.AddFeed(contracts.StandardLane, 10, room(1<<30))}
}

// step plays an event, and wants the machine whole after it.
func (g *gated) step(e Event) ([]Action, Taken) {
	g.Helper()
	actions, taken := g.machine.Step(e)
	if err := g.machine.Check(); err != nil {
		g.Errorf("after %T: %v", e, err)
	}
	return slices.Clone(actions), taken
}

// becomes plays an event and returns what becomes of its record.
func (g *gated) becomes(e Event) Do {
	g.Helper()
	actions, _ := g.step(e)
	return actions[len(actions)-1].Do
}

// wantOthers has a record take its turn, and says for which of its targets others
// wait behind gates.
func (g *gated) wantOthers(r *Record, want []string) {
	g.Helper()
	actions, _ := g.step(Turn{Record: r})
	if got := actions[len(actions)-1].Others; !slices.Equal(got, want) {
		g.Errorf("others wait for %v, want %v", got, want)
	}
}

// record is one that was committed version seconds after the start.
func (g *gated) record(version int64) *Record {
	id := fmt.Sprintf("%05d", version)
	return &Record{
		Sight: Sight{ID: id, CreatedAt: at(1000 * version), CreateTime: at(1000 * version), UpdateTime: at(10_000_000)}, // after whatever is written
		Home:  g.feed, Aggregate: "x", AggregateID: "x", Version: version, Targets: []string{"A"},
	}
}

// read has the feed read a record, and reports whether it is in memory then.
func (g *gated) read(r *Record) bool {
	g.Helper()
	_, generation := g.feed.Start()
	if taken := g.submit(&Batch{Feed: g.feed, Generation: generation, Records: []*Record{r}, UpTo: r.Position()}); taken.Stopped != NotStopped {
		g.Fatalf("version %d is not taken: %+v", r.Version, taken)
	}
	return g.machine.held[r.ID] == r
}

// submit gives a batch to its feed as a reader does: what is taken is submitted,
// and then the rest is given. The batch keeps what is not taken.
func (g *gated) submit(b *Batch) (taken Taken) {
	g.Helper()
	for {
		_, taken = g.step(*b)
		b.Records = b.Records[taken.Records:]
		if taken.Stopped != StoppedSubmit {
			return taken
		}
	}
}

// take has the feed take a record into memory.
func (g *gated) take(version int64) *Record {
	g.Helper()
	return g.takeOf("x", version)
}

// takeOf is take for a record of that aggregate.
func (g *gated) takeOf(aggregate string, version int64) *Record {
	g.Helper()
	r := g.record(version)
	r.Aggregate, r.AggregateID = aggregate, aggregate
	if !g.read(r) {
		g.Fatalf("version %d is not in memory", version)
	}
	return r
}

func (g *gated) wantOpen(r *Record, want ...string) {
	g.Helper()
	actions, _ := g.step(Turn{Record: r})
	last := actions[len(actions)-1]
	if last.Do != Deliver || len(last.Open) != len(want) || len(want) > 0 && !cmp.Equal(last.Open, want) {
		g.Errorf("version %d goes to %v (%d), want %v", r.Version, last.Open, last.Do, want)
	}
}

func (g *gated) wantParked(want Do, r *Record, blocked, gated []string, unsaved bool) {
	g.Helper()
	if got := g.becomes(Tried{Record: r, Then: Parks, Blocked: blocked, Gated: gated, Unsaved: unsaved}); got != want {
		g.Errorf("version %d is parked as %d, want %d", r.Version, got, want)
	}
}

// gotThrough has a record reach A.
func (g *gated) gotThrough(r *Record) {
	g.Helper()
	g.step(Tried{Record: r, Acked: []string{"A"}})
}

// isSettled has a record settled, and hasLeft has one saved that leaves.
func (g *gated) isSettled(r *Record) { g.settle(r, End, at(9000)) }
func (g *gated) hasLeft(r *Record)   { g.settle(r, Save, at(9000)) }

func (g *gated) settle(r *Record, kind Kind, at time.Time) {
	g.Helper()
	s := &Settlement{Record: r, Kind: kind}
	g.step(Settle{s})
	g.step(Settled{s, at})
}

// leaves has a record leave memory for no gate, as its outbox is given back.
func (g *gated) leaves(r *Record) {
	g.Helper()
	if got := g.becomes(GivenBack{Record: r, Unsaved: true}); got != SaveIt {
		g.Fatalf("version %d does not leave: %d", r.Version, got)
	}
}

func (g *gated) readBack() ReadBack {
	g.Helper()
	page, ok := g.feed.BeginBack()
	if !ok {
		g.Fatal("nothing is to be brought back")
	}
	return page
}

// bringBack has the gate of target A bring those versions back, the last of what
// was left there among them.
func (g *gated) bringBack(versions ...int64) []*Record {
	g.Helper()
	page := g.readBack()
	var brought []*Record
	for _, version := range versions {
		r := g.record(version)
		if p := r.Position(); !page.After.Before(p) || page.Last.Before(p) {
			g.Errorf("version %d is at %v, and brought back is what is after %v up to %v", version, p, page.After, page.Last)
		}
		g.wantBack(page, r)
		brought = append(brought, r)
	}
	g.step(BackEnded{Gate: page.Gate, UpTo: page.Last})
	return brought
}

// wantBack wants a record that a page shows taken back.
func (g *gated) wantBack(page ReadBack, r *Record) {
	g.Helper()
	if _, taken := g.step(Back{Gate: page.Gate, Records: []*Record{r}}); taken.Stopped != StoppedSubmit || g.machine.held[r.ID] != r {
		g.Fatalf("version %d is not brought back: %+v", r.Version, taken)
	}
}

// wantFree wants no gate before any record.
func (g *gated) wantFree() {
	g.Helper()
	if len(g.feed.gates) > 0 {
		g.Errorf("gates stand: %v", g.feed.gates)
	}
}

var targetA = []string{"A"}

// refused has a record's lane refuse it.
func (g *gated) refused(version int64) {
	g.Helper()
	r := g.record(version)
	_, generation := g.feed.Start()
	g.step(Batch{Feed: g.feed, Generation: generation, Records: []*Record{r}})
	g.step(Refused{Record: r, By: contracts.StandardLane})
}
