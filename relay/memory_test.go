package relay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"outboxrelay/contracts"
)

// held is a record of so many bytes in a feed's memory.
func held(f *feed, id string, size int64) *entry {
	e := &entry{feed: f, doc: Doc{ID: id}, rec: &contracts.Record{}, size: size}
	f.ledger.mu.Lock()
	defer f.ledger.mu.Unlock()
	f.ledger.admitLocked(e)
	return e
}

// roomFor reports whether f may take a record without waiting.
func roomFor(f *feed) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return f.waitRoom(ctx) == nil
}

func TestMemoryIsForAllOutboxesOfALane(t *testing.T) {
	m := newMemory(100, 2)
	a, b := newFeed(newLedger(), contracts.StandardLane, 1000, m), newFeed(newLedger(), contracts.StandardLane, 1000, m)
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
	for _, e := range []*entry{first, large, second} {
		e.feed.ledger.remove(e, at(1))
	}
	if got := m.inUse(); got != 0 || !roomFor(a) || !roomFor(b) {
		t.Errorf("%d bytes in use once all have left", got)
	}
}

// Records that wait for a retry leave their room to others, up to a bound.
func TestMemoryOfRestingRecords(t *testing.T) {
	m := newMemory(100, 2)
	a := newFeed(newLedger(), contracts.StandardLane, 1000, m)
	var resting []*entry
	for i := range restingFactor {
		e := held(a, fmt.Sprint(i), 100)
		if roomFor(a) {
			t.Errorf("room in a lane that %d bytes run in", m.running)
		}
		a.ledger.rest(e, true)
		if resting = append(resting, e); roomFor(a) != (len(resting) < restingFactor) {
			t.Errorf("with %d records resting, room is %v", len(resting), roomFor(a))
		}
	}
	a.ledger.rest(resting[0], false)
	for i, e := range resting {
		a.ledger.remove(e, at(1))
		if want := int64(100 * (restingFactor - i - 1)); m.inUse() != want {
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
		a, b := newFeed(newLedger(), contracts.StandardLane, 1000, m), newFeed(newLedger(), contracts.StandardLane, 1000, m)
		full, own := held(a, "1", 100), held(b, "1", 60)
		done := make(chan error, 2)
		for _, f := range []*feed{a, b} {
			go func() { done <- f.waitRoom(t.Context()) }()
		}
		synctest.Wait()
		if len(done) > 0 {
			t.Fatal("room in a full lane")
		}
		a.ledger.remove(full, at(1)) // the other one's, too, waited for it
		synctest.Wait()
		if len(done) != 2 {
			t.Errorf("%d of 2 feeds go on once there is room", len(done))
		}
		b.ledger.remove(own, at(1))
	})
}

// A record that leaves late, after its outbox was given back, gives nothing twice.
func TestMemoryOfAFeedThatEnds(t *testing.T) {
	m := newMemory(100, 2)
	a, b := newFeed(newLedger(), contracts.StandardLane, 1000, m), newFeed(newLedger(), contracts.StandardLane, 1000, m)
	late := held(a, "1", 90)
	held(b, "1", 50)
	m.giveAll(a)
	a.ledger.remove(late, at(1))
	if got := m.inUse(); got != 50 {
		t.Errorf("%d bytes in use, want the other feed's 50", got)
	}
}

func TestPortionsGoBySize(t *testing.T) {
	entries := func(sizes ...int64) (out []*entry) {
		for _, s := range sizes {
			out = append(out, &entry{size: s})
		}
		return out
	}
	var p portion
	if page, window := p.page(200, 1<<20), p.window(500, 4<<20); page != firstPortion || window != 500 {
		t.Errorf("before any is known, pages of %d and a window of %d", page, window)
	}
	for _, step := range []struct {
		read         []*entry
		page, window int
	}{
		{entries(2048, 4096), 200, 500},      // small ones: as many as are allowed
		{entries(256 << 10), 4, leastWindow}, // large ones count at once
		{entries(), 4, leastWindow},          // nothing new
		{entries(64 << 10), 6, 25},           // smaller ones by halves
		{entries(64<<10, 64<<10), 9, 36},     // (160 + 64) / 2 = 112 KiB
		{entries(4 << 20), 1, leastWindow},   // one at least
		{entries(0), 1, leastWindow},
		{entries(0, 0), 1, leastWindow},
		{entries(0), 2, leastWindow}, // 512 KiB
		{entries(0), 4, leastWindow},
		{entries(0), 8, 32},
	} {
		p.learn(step.read)
		if page, window := p.page(200, 1<<20), p.window(500, 4<<20); page != step.page || window != step.window {
			t.Errorf("after %d records, typically %d bytes: pages of %d, a window of %d, want %d and %d",
				len(step.read), p.typical.Load(), page, window, step.page, step.window)
		}
	}
}

func TestSizeOfARecordCountsWhatItKeeps(t *testing.T) {
	r, _ := newTestRelay(t)
	o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
	doc := docOf(1, 0)
	doc.Fields = func() map[string]any {
		return map[string]any{contracts.FieldPayload: map[string]any{"text": strings.Repeat("x", 100_000)}}
	}
	e := o.newEntry(doc, o.feeds[0])
	if len(e.faults) == 0 {
		t.Fatal("the record has no faults")
	}
	if e.size < 100_000 { // one with faults keeps its payload for its dead letter
		t.Errorf("counted as %d bytes", e.size)
	}
}
