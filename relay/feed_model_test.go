package relay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

// TestFeedModel plays a feed against a model of Firestore, its lane and its
// targets: records are appended and read in pages, delivered and parked in any
// order that the rules allow, while targets go down and come back. Whatever
// the order, each record reaches each of its targets, those of one aggregate
// in the order of their versions, and memory stays within the feed's capacity.
func TestFeedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newFeedModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"append":  m.append,
			"read":    m.read,
			"live":    m.goLive,
			"deliver": m.deliver,
			"commit":  m.commit,
			"drain":   m.drain,
			"break":   m.breakTarget,
			"mend":    m.mendTarget,
			"":        m.check,
		})
		m.finish(t)
	})
}

var modelTargets = []string{"A", "B"}

type feedModel struct {
	t        *rapid.T
	feed     *feed
	clock    time.Time
	stored   []*modelDoc // in the order of their positions
	versions map[string]int64
	down     map[string]bool
	lane     map[string][]*entry // by aggregate, in the order of versions
	saving   []*entry            // leaving memory once committed
	received map[string][]int64  // target and aggregate: versions in the order of arrival

	finishing bool
}

type modelDoc struct {
	doc       Doc
	aggregate string
	version   int64
	targets   []string
	delivered []string // as Firestore has it
	done      bool
	retrying  bool // no query for pending records shows it
}

func newFeedModel(t *rapid.T) *feedModel {
	return &feedModel{
		t: t, feed: newFeed(newLedger(), contracts.StandardLane, 6, newMemory(1<<30, 1)), clock: time.Unix(1000, 0),
		versions: map[string]int64{}, down: map[string]bool{}, lane: map[string][]*entry{}, received: map[string][]int64{},
	}
}

func (m *feedModel) tick() time.Time {
	m.clock = m.clock.Add(time.Millisecond)
	return m.clock
}

// append commits one to three records with one createdAt.
func (m *feedModel) append(t *rapid.T) {
	at := m.tick()
	var group []*modelDoc
	for range rapid.IntRange(1, 3).Draw(t, "records") {
		agg := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "aggregate")
		m.versions[agg]++
		id := fmt.Sprintf("%03d-%s-%d", rapid.IntRange(0, 999).Draw(t, "id"), agg, m.versions[agg])
		targets := rapid.SampledFrom([][]string{{"A"}, {"B"}, {"A", "B"}}).Draw(t, "targets")
		group = append(group, &modelDoc{
			doc: Doc{ID: id, CreatedAt: at, UpdateTime: at}, aggregate: agg, version: m.versions[agg], targets: targets,
		})
	}
	slices.SortFunc(group, func(a, b *modelDoc) int { return byPosition(a.doc, b.doc) })
	m.stored = append(m.stored, group...)
}

func (m *feedModel) entry(d *modelDoc) *entry {
	e := &entry{
		feed: m.feed, doc: d.doc, route: &contracts.EventRoute{Targets: d.targets},
		rec: &contracts.Record{AggregateID: d.aggregate, AggregateVersion: d.version, DeliveredTargets: slices.Clone(d.delivered)},
	}
	e.task.Aggregate = d.aggregate
	return e
}

// read reads the next page, as the reader does: up to a whole group.
func (m *feedModel) read(t *rapid.T) {
	after, generation := m.feed.start()
	m.take(after, generation, rapid.IntRange(1, 4).Draw(t, "page"))
}

// take admits whole groups after a position, at least n records if there are.
func (m *feedModel) take(after Position, generation, n int) {
	now := m.tick()
	n = min(n, m.feed.capacity-m.feed.running) // the reader waits for room
	if n <= 0 {
		return
	}
	var page []*modelDoc
	for _, d := range m.stored {
		begins := after.ID == "" && after.At.Equal(d.doc.CreatedAt)
		if d.done || d.retrying || !begins && !after.before(d.doc.position()) {
			continue
		}
		if len(page) >= n && !page[len(page)-1].doc.CreatedAt.Equal(d.doc.CreatedAt) {
			break
		}
		page = append(page, d)
	}
	if len(page) == 0 {
		return
	}
	end := page[len(page)-1].doc.position()
	slices.SortStableFunc(page, func(a, b *modelDoc) int { return int(a.version - b.version) })
	for _, d := range page {
		doc := d.doc
		doc.ReadTime = now
		switch c, _ := m.feed.ledger.consider(doc); c {
		case considerKnown:
			continue
		case considerWait:
			m.commit(nil)
			m.feed.rewind(doc.position())
			return
		}
		if !m.finishing && rapid.IntRange(0, 3).Draw(m.t, "deliver meanwhile") == 0 {
			m.deliver(m.t)
		}
		e := m.entry(d)
		switch m.feed.admit(e, generation) {
		case outdated:
			return
		case early:
			m.commit(nil)
			m.feed.rewind(e.position())
			return
		case admitted:
			q := append(m.lane[d.aggregate], e)
			slices.SortStableFunc(q, func(a, b *entry) int { return int(a.rec.AggregateVersion - b.rec.AggregateVersion) })
			m.lane[d.aggregate] = q
		}
	}
	m.feed.read(end, generation)
}

// drain brings back a page of what was left behind a target's gate, with
// deliveries and commits in between.
func (m *feedModel) drain(t *rapid.T) {
	g := m.feed.nextDrain()
	if g == nil {
		return
	}
	after, last, _ := m.feed.beginDrain(g)
	limit := rapid.IntRange(1, 4).Draw(t, "drain")
	var page []*modelDoc
	end := endOfTime
	for _, d := range m.stored {
		begins := after.ID == "" && after.At.Equal(d.doc.CreatedAt)
		if d.done || d.retrying || !begins && !after.before(d.doc.position()) {
			continue
		}
		if len(page) >= limit && !page[len(page)-1].doc.CreatedAt.Equal(d.doc.CreatedAt) {
			end = page[len(page)-1].doc.position()
			break
		}
		page = append(page, d)
	}
	stale := make(map[*modelDoc]Doc)
	saved := make(map[*modelDoc][]string)
	for _, d := range page {
		stale[d], saved[d] = d.doc, slices.Clone(d.delivered)
	}
	meanwhile := func() {
		if m.finishing {
			return
		}
		switch rapid.IntRange(0, 5).Draw(t, "meanwhile") {
		case 0:
			m.deliver(t)
		case 1:
			m.commit(t)
		case 2:
			m.read(t)
		}
	}
	meanwhile()
	slices.SortStableFunc(page, func(a, b *modelDoc) int { return int(a.version - b.version) })
	for _, d := range page {
		if last.before(d.doc.position()) {
			continue
		}
		meanwhile()
		switch c, _ := m.feed.ledger.consider(stale[d]); c {
		case considerKnown:
			if m.feed.passHeld(g, d.doc.ID) {
				continue
			}
			m.feed.endDrain(g, after)
			return
		case considerWait:
			m.feed.endDrain(g, after)
			return
		}
		if m.feed.running >= m.feed.capacity { // the reader waits for room: here it comes again
			m.feed.endDrain(g, after)
			return
		}
		e := m.entry(d)
		e.doc, e.rec.DeliveredTargets = stale[d], saved[d]
		switch m.feed.admitBack(e, g) {
		case early:
			m.feed.endDrain(g, after)
			return
		case admitted:
			q := append(m.lane[d.aggregate], e)
			slices.SortStableFunc(q, func(a, b *entry) int { return int(a.rec.AggregateVersion - b.rec.AggregateVersion) })
			m.lane[d.aggregate] = q
		}
	}
	m.feed.endDrain(g, end)
	t.Logf("drained %s from %v to %v, last %v, left %v", g.target, after, g.from, g.last, g.left)
}

// goLive reads everything that is left and listens.
func (m *feedModel) goLive(*rapid.T) {
	after, generation := m.feed.start()
	m.take(after, generation, len(m.stored))
	if cursor, now := m.feed.start(); now == generation {
		rest := slices.ContainsFunc(m.stored, func(d *modelDoc) bool { return !d.done && !d.retrying && cursor.before(d.doc.position()) })
		if !rest {
			m.feed.setLive(generation)
		}
	}
}

// deliver hands out a run of an aggregate. As in its lane, what each record of
// it may be delivered to is decided before any is.
func (m *feedModel) deliver(t *rapid.T) {
	agg := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "aggregate")
	run := slices.Clone(m.lane[agg])
	run = run[:min(len(run), rapid.IntRange(1, 3).Draw(t, "run"))]
	var withheld []string
	opens, gateds := make([][]string, len(run)), make([][]string, len(run))
	for i, e := range run {
		open, gated := m.feed.split(e)
		opens[i], gateds[i] = withhold(open, gated, &withheld)
	}
	if rapid.Bool().Draw(t, "event while in delivery") {
		m.mendTarget(t) // a breaker closes while the records are under way
	}
	for i, e := range run {
		t.Logf("deliver %s%d open %v gated %v live %v cursor %v", agg, e.rec.AggregateVersion, opens[i], gateds[i], m.feed.live, m.feed.cursor.At.UnixMilli())
		m.deliverTo(agg, e, opens[i], gateds[i])
	}
}

// deliverTo lets a record go to those of its open targets that are up.
func (m *feedModel) deliverTo(agg string, e *entry, open, gated []string) {
	var blocked []string
	unknown := false
	for _, target := range open {
		if m.down[target] {
			if !m.finishing && rapid.IntRange(0, 3).Draw(m.t, "its breaker is not open yet") == 0 {
				unknown = true // the attempt failed, and says nothing
			} else {
				blocked = append(blocked, target)
			}
			continue
		}
		key := target + "/" + agg
		m.received[key] = append(m.received[key], e.rec.AggregateVersion)
		e.rec.DeliveredTargets = append(e.rec.DeliveredTargets, target)
		e.unsaved = true
		m.feed.gotThrough(target, e)
	}
	if len(e.missing()) == 0 {
		m.unqueue(agg, e)
		m.find(e).done = true
		m.feed.ledger.remove(e, m.tick())
		return
	}
	if unknown || len(blocked)+len(gated) == 0 {
		return
	}
	if !m.finishing && rapid.IntRange(0, 3).Draw(m.t, "an attempt failed before") == 0 {
		m.find(e).retrying = true
	}
	switch m.feed.park(e, blocked, gated, e.unsaved || m.find(e).retrying) {
	case parkHold, parkAgain, parkRest:
	case parkLeave:
		m.unqueue(agg, e)
	case parkSave:
		m.unqueue(agg, e)
		m.saving = append(m.saving, e)
	}
}

func (m *feedModel) unqueue(agg string, e *entry) {
	m.lane[agg] = slices.DeleteFunc(slices.Clone(m.lane[agg]), func(each *entry) bool { return each == e })
}

// commit writes the progress of the records that are leaving.
func (m *feedModel) commit(*rapid.T) {
	for _, e := range m.saving {
		d := m.find(e)
		d.delivered, d.retrying = slices.Clone(e.rec.DeliveredTargets), false
		d.doc.UpdateTime = m.tick()
		m.feed.hasLeft(e, d.doc.UpdateTime)
	}
	m.saving = nil
}

func (m *feedModel) find(e *entry) *modelDoc {
	return m.stored[slices.IndexFunc(m.stored, func(d *modelDoc) bool { return d.doc.ID == e.doc.ID })]
}

func (m *feedModel) breakTarget(t *rapid.T) {
	m.down[rapid.SampledFrom(modelTargets).Draw(t, "target")] = true
}

func (m *feedModel) mendTarget(t *rapid.T) { m.mend(rapid.SampledFrom(modelTargets).Draw(t, "target")) }

func (m *feedModel) mend(target string) {
	if m.down[target] {
		m.down[target] = false
		if g := m.feed.gates[targetGate(target)]; g != nil {
			m.t.Logf("open %s from %v count %d", target, g.from.At.UnixMilli(), g.count())
		}
		m.feed.open(targetGate(target))
	}
}

func (m *feedModel) check(t *rapid.T) {
	for key, versions := range m.received {
		seen := int64(0)
		for _, v := range versions {
			if v <= seen {
				t.Fatalf("%s received %v: out of order or twice", key, versions)
			}
			seen = v
		}
	}
	if n := m.feed.running; n > m.feed.capacity+2 { // a page ends with a whole commit
		t.Fatalf("%d records run, capacity is %d", n, m.feed.capacity)
	}
}

// finish mends everything and lets all records through.
func (m *feedModel) finish(t *rapid.T) {
	m.finishing = true
	for _, target := range modelTargets {
		m.mend(target)
	}
	for range 40 * (len(m.stored) + 1) {
		m.goLive(t)
		m.drain(t)
		m.commit(t)
		for agg := range m.lane {
			for range len(m.lane[agg]) {
				m.drainHead(t, agg)
			}
		}
	}
	m.check(t)
	for _, d := range m.stored {
		if !d.done {
			t.Logf("gates %v cursor %v live %v running %d resting %d lane %v held %v", m.feed.gates, m.feed.cursor, m.feed.live, m.feed.running, m.feed.resting, m.lane, m.feed.ledger.held)
			t.Fatalf("record %s of aggregate %s version %d was forgotten (delivered to %v of %v)", d.doc.ID, d.aggregate, d.version, d.delivered, d.targets)
		}
	}
	if n := m.feed.ledger.size(); n != 0 {
		t.Fatalf("%d records left in memory", n)
	}
}

// drainHead delivers the head of an aggregate with all targets up.
func (m *feedModel) drainHead(t *rapid.T, agg string) {
	q := m.lane[agg]
	if len(q) == 0 {
		return
	}
	e := q[0]
	open, gated := m.feed.split(e)
	t.Logf("drain %s%d open %v gated %v live %v cursor %v", agg, e.rec.AggregateVersion, open, gated, m.feed.live, m.feed.cursor.At.UnixMilli())
	m.deliverTo(agg, e, open, gated)
}
