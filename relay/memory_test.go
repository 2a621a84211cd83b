package relay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// held is a record of so many bytes in a feed's memory.
func held(in *intake, id string, size int64) *feed.Record {
	r := &feed.Record{Sight: feed.Sight{ID: id}, Home: in.feed, Size: size}
	in.ledger.step(feed.Batch{Feed: in.feed, Records: []*feed.Record{r}})
	return r
}

// gone has a record leave memory.
func gone(in *intake, r *feed.Record) { in.ledger.step(feed.GivenBack{Record: r}) }

// roomFor reports whether in may take a record without waiting.
func roomFor(in *intake) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return in.waitRoom(ctx) == nil
}

func TestMemoryIsForAllOutboxesOfALane(t *testing.T) {
	m := newMemory(100, 2)
	a, b := newIntake(newLedger(), contracts.StandardLane, 1000, m), newIntake(newLedger(), contracts.StandardLane, 1000, m)
	first := held(a, "1", 60)
	if !roomFor(a) || !roomFor(b) {
		t.Fatal("no room in a lane that is not full")
	}
	second := held(a, "2", 60)
	if roomFor(a) {
		t.Error("room for a feed that filled the lane")
	}
	if !roomFor(b) {
		t.Error("no room for a feed that has nothing, behind one that filled the lane")
	}
	large := held(b, "1", 70)
	if roomFor(b) {
		t.Error("room beyond its share for a feed of a full lane")
	}
	if got := m.inUse(); got != 190 {
		t.Errorf("%d bytes in use, want 190", got)
	}
	gone(a, first)
	gone(b, large)
	gone(a, second)
	if got := m.inUse(); got != 0 || !roomFor(a) || !roomFor(b) {
		t.Errorf("%d bytes in use once all have left", got)
	}
}

// Records that wait for a retry leave their room to others, up to a bound.
func TestMemoryOfRestingRecords(t *testing.T) {
	m := newMemory(100, 2)
	a := newIntake(newLedger(), contracts.StandardLane, 1000, m)
	var resting []*feed.Record
	for i := range feed.RestingFactor {
		e := held(a, fmt.Sprint(i), 100)
		if roomFor(a) {
			t.Errorf("room in a lane that %d bytes run in", m.running)
		}
		a.ledger.step(feed.Tried{Record: e, Then: feed.Retries})
		if resting = append(resting, e); roomFor(a) != (len(resting) < feed.RestingFactor) {
			t.Errorf("with %d records resting, room is %v", len(resting), roomFor(a))
		}
	}
	a.ledger.step(feed.Turn{Record: resting[0]})
	for i, e := range resting {
		gone(a, e)
		if want := int64(100 * (feed.RestingFactor - i - 1)); m.inUse() != want {
			t.Errorf("%d bytes in use, want %d", m.inUse(), want)
		}
	}
	if m.running != 0 || !roomFor(a) {
		t.Errorf("%d bytes run once all have left", m.running)
	}
}

func TestMemoryWakesWhoeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(100, 2)
		a, b := newIntake(newLedger(), contracts.StandardLane, 1000, m), newIntake(newLedger(), contracts.StandardLane, 1000, m)
		full, own := held(a, "1", 100), held(b, "1", 60)
		done := make(chan error, 2)
		for _, in := range []*intake{a, b} {
			go func() { done <- in.waitRoom(t.Context()) }()
		}
		synctest.Wait()
		if len(done) > 0 {
			t.Fatal("room in a full lane")
		}
		gone(a, full) // the other one's, too, waited for it
		synctest.Wait()
		if len(done) != 2 {
			t.Errorf("%d of 2 feeds go on once there is room", len(done))
		}
		gone(b, own)
	})
}

// A record that leaves late, after its outbox was given back, gives nothing twice.
func TestMemoryOfAFeedThatEnds(t *testing.T) {
	m := newMemory(100, 2)
	a, b := newIntake(newLedger(), contracts.StandardLane, 1000, m), newIntake(newLedger(), contracts.StandardLane, 1000, m)
	late := held(a, "1", 90)
	held(b, "1", 50)
	m.giveAll(a)
	gone(a, late)
	if got := m.inUse(); got != 50 {
		t.Errorf("%d bytes in use, want the other feed's 50", got)
	}
}

func TestSizeOfARecordCountsWhatItKeeps(t *testing.T) {
	r, _ := newTestRelay(t)
	o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
	doc := docOf(1, 0)
	doc.Content = told(func() map[string]any {
		return map[string]any{contracts.FieldPayload: map[string]any{"text": strings.Repeat("x", 100_000)}}
	})
	e := o.newEntry(doc, o.intakes[0])
	if len(e.faults) == 0 {
		t.Fatal("the record has no faults")
	}
	if e.Size < 100_000 { // one with faults keeps its payload for its dead letter
		t.Errorf("counted as %d bytes", e.Size)
	}
}
