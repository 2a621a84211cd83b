package feed

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

// TestModel plays a feed against a model of Firestore, its lane and its targets:
// records are appended and read in pages, delivered and parked in any order that
// the rules allow, while targets go down and come back, the lane refuses some, and
// aggregates are frozen and released. Some are in backoff at the start. Whatever the order, each record reaches each of its targets, those
// of one aggregate in the order of their versions, memory stays within the feed's
// capacity, and after each event the invariant holds.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"append":  m.append,
			"read":    m.read,
			"live":    m.goLive,
			"deliver": m.deliver,
			"commit":  m.commit,
			"drain":   m.drain,
			"break":   m.breakTarget,
			"mend":    m.mendTarget,
			"freeze":  m.freeze,
			"thaw":    m.thaw,
			"shed":    m.shed,
			"hear":    m.hearShed,
			"":        m.check,
		})
		m.finish(t)
	})
}

var modelTargets, modelAggregates = []string{"A", "B"}, []string{"x", "y"}

type model struct {
	t        *rapid.T
	machine  *Machine
	feed     *Feed
	clock    time.Time
	stored   []*modelDoc // in the order of their positions
	versions map[string]int64
	down     map[string]bool
	lane     map[string][]*Record // by aggregate, in the order of versions
	handed   []*Record            // that the lane handed out, and the feed has not heard of
	saving   []*Settlement        // of records that leave memory once committed
	received map[string][]int64   // target and aggregate: versions in the order of arrival
	refused  map[string]int64     // aggregate: the lowest version that the lane refused, and all behind it

	finishing bool
}

type modelDoc struct {
	sight     Sight
	aggregate string
	version   int64
	targets   []string // that do not have it, as Firestore knows
	done      bool
	retrying  bool // no query for pending records shows it
}

func newModel(t *rapid.T) *model {
	m := &model{
		t: t, machine: New(), clock: time.Unix(1000, 0), versions: map[string]int64{}, down: map[string]bool{}, lane: map[string][]*Record{},
		received: map[string][]int64{}, refused: map[string]int64{},
	}
	m.feed = m.machine.AddFeed(contracts.StandardLane, 6, room(1<<30))
	for range rapid.IntRange(0, 2).Draw(t, "at the start") {
		m.append(t)
	}
	for _, d := range m.stored {
		if d.retrying = rapid.IntRange(0, 3).Draw(t, "in backoff") == 0; d.retrying {
			r := m.record(d)
			r.Origin, r.Retrying = Searched, true
			m.submit(m.step(Found{r}))
		}
	}
	return m
}

func (m *model) tick() time.Time {
	m.clock = m.clock.Add(time.Millisecond)
	return m.clock
}

// step plays an event and wants the machine whole after it.
func (m *model) step(e Event) ([]Action, Taken) {
	actions, taken := m.machine.Step(e)
	m.t.Logf("%s: %v %+v", tell(e), tellAll(actions), taken)
	for key, g := range m.feed.gates {
		m.t.Logf("   %s from %d last %d left %d passes %d draining %t paging %t", key, g.from.At.UnixMilli(), g.last.At.UnixMilli(), len(g.left), len(g.passes), g.draining, g.paging)
	}
	if err := m.machine.Check(); err != nil {
		m.t.Fatalf("after %T: %v", e, err)
	}
	return slices.Clone(actions), taken
}

func (m *model) becomes(e Event) Action {
	actions, _ := m.step(e)
	return actions[len(actions)-1]
}

// append commits one to three records with one createdAt.
func (m *model) append(t *rapid.T) {
	at := m.tick()
	var group []*modelDoc
	for range rapid.IntRange(1, 3).Draw(t, "records") {
		agg := rapid.SampledFrom(modelAggregates).Draw(t, "aggregate")
		m.versions[agg]++
		id := fmt.Sprintf("%03d-%s-%d", rapid.IntRange(0, 999).Draw(t, "id"), agg, m.versions[agg])
		targets := rapid.SampledFrom([][]string{{"A"}, {"B"}, {"A", "B"}}).Draw(t, "targets")
		group = append(group, &modelDoc{
			sight: Sight{ID: id, CreatedAt: at, UpdateTime: at}, aggregate: agg, version: m.versions[agg], targets: targets,
		})
	}
	slices.SortFunc(group, func(a, b *modelDoc) int { return cmp.Compare(a.sight.ID, b.sight.ID) })
	m.stored = append(m.stored, group...)
}

func (m *model) record(d *modelDoc) *Record {
	return &Record{
		Sight: d.sight, Home: m.feed, Aggregate: d.aggregate, AggregateID: d.aggregate, Version: d.version, Targets: slices.Clone(d.targets),
	}
}

// page returns the pending documents after a position: whole commits, at least n
// documents if there are. end is the place behind them.
func (m *model) page(after Position, n int) (page []*modelDoc, end Position) {
	for _, d := range m.stored {
		begins := after.ID == "" && after.At.Equal(d.sight.CreatedAt)
		if d.done || d.retrying || !begins && !after.Before(d.sight.Position()) {
			continue
		}
		if len(page) >= n && !page[len(page)-1].sight.CreatedAt.Equal(d.sight.CreatedAt) {
			return page, page[len(page)-1].sight.Position()
		}
		page = append(page, d)
	}
	return page, EndOfTime
}

func byVersion(a, b *Record) int { return cmp.Compare(a.Version, b.Version) }

// meanwhile lets something happen between two steps of whoever reads.
func (m *model) meanwhile() {
	if m.finishing {
		return
	}
	switch rapid.IntRange(0, 6).Draw(m.t, "meanwhile") {
	case 0:
		m.deliver(m.t)
	case 1:
		m.commit(m.t)
	case 2:
		m.freeze(m.t)
	}
}

// read reads the next page, as the reader does: up to a whole commit.
func (m *model) read(t *rapid.T) {
	m.take(rapid.IntRange(1, 4).Draw(t, "page"), Partly)
}

// goLive reads everything that is left and listens.
func (m *model) goLive(*rapid.T) { m.take(len(m.stored), Live) }

// take takes in a page from where the feed stands. For want of room, or as a
// record leaves, the rest is left for another.
func (m *model) take(n int, reach Reach) {
	after, generation := m.feed.Start()
	docs, end := m.page(after, n)
	if end == EndOfTime {
		if end = after; len(docs) > 0 {
			end = docs[len(docs)-1].sight.Position()
		}
	}
	var records []*Record
	for _, d := range docs {
		d.sight.ReadTime = m.tick()
		switch j, _ := m.machine.Judge(d.sight, m.feed.Lane); j {
		case Leaving:
			m.step(Reread{m.feed, d.sight.Position()})
			return
		case Unknown, Doubtful:
			records = append(records, m.record(d))
		}
	}
	slices.SortStableFunc(records, byVersion)
	m.meanwhile()
	batch := Batch{Feed: m.feed, Generation: generation, Records: records, UpTo: end, Reach: reach}
	for {
		actions, taken := m.step(batch)
		m.meanwhile()
		m.submit(actions, taken)
		batch.Records = batch.Records[taken.Records:]
		switch taken.Stopped {
		case StoppedSubmit:
		case StoppedLeaving:
			m.step(Reread{m.feed, batch.Records[0].Position()})
			return
		case StoppedFull:
			if m.finishing {
				return
			}
			m.deliver(m.t)
			if !m.feed.Room() {
				return
			}
		case StoppedStale, NotStopped:
			return
		}
	}
}

// submit puts what was taken into the lane, which may refuse it.
func (m *model) submit(actions []Action, _ Taken) {
	for _, a := range actions {
		if a.Do != Submit {
			continue
		}
		r := a.Record
		if m.machine.Standing(r.AggregateID) == Releasing {
			m.left(m.becomes(Withdrawn{Record: r, Unsaved: m.unsaved(r)}))
			continue
		}
		if at, full := m.refused[r.Aggregate]; r.Origin == Read && (full && r.Version > at || m.fills(r)) {
			m.isRefused(r)
			m.step(Refused{Record: r})
			m.idle(r.Aggregate)
			continue
		}
		m.lane[r.Aggregate] = append(m.lane[r.Aggregate], r)
		slices.SortStableFunc(m.lane[r.Aggregate], byVersion)
	}
}

// fills reports whether the lane has too many of r's aggregate. It always has a place
// for one older than all of them.
func (m *model) fills(r *Record) bool {
	q := m.lane[r.Aggregate]
	return len(q) > 0 && r.Version > q[0].Version && !m.finishing && rapid.IntRange(0, 3).Draw(m.t, "too many") == 0
}

// idle tells that the lane has none left of an aggregate that it refused.
func (m *model) idle(agg string) {
	if _, refused := m.refused[agg]; refused && len(m.lane[agg]) == 0 && !m.sheds(agg) {
		delete(m.refused, agg)
		m.step(Idle{agg})
	}
}

// drain brings back a page of what was left behind a target's gate, with
// deliveries and commits in between.
func (m *model) drain(t *rapid.T) {
	page, ok := m.feed.BeginBack()
	if !ok {
		return
	}
	end := page.After
	defer func() { m.step(BackEnded{page.Gate, end}) }()
	docs, behind := m.page(page.After, rapid.IntRange(1, 4).Draw(t, "drain"))
	back := Back{Gate: page.Gate}
	for _, d := range docs {
		if page.Last.Before(d.sight.Position()) {
			continue
		}
		switch j, _ := m.machine.Judge(d.sight, m.feed.Lane); j {
		case Leaving:
			return
		case Known:
			back.Known = append(back.Known, d.sight.ID)
		case Unknown, Doubtful:
			back.Records = append(back.Records, m.record(d))
		}
	}
	slices.SortStableFunc(back.Records, byVersion)
	for {
		m.meanwhile()
		actions, taken := m.step(back)
		m.meanwhile()
		m.submit(actions, taken)
		back.Records = back.Records[taken.Records:]
		switch taken.Stopped {
		case NotStopped:
			end = behind
			return
		case StoppedSubmit:
			continue
		case StoppedStale, StoppedLeaving:
			return
		case StoppedFull:
			if m.finishing {
				return
			}
		}
		if m.deliver(t); !m.feed.Room() {
			return
		}
	}
}

// deliver hands out a run of an aggregate. As in its lane, what each record of
// it may be delivered to is decided before any is.
func (m *model) deliver(t *rapid.T) {
	agg := rapid.SampledFrom(modelAggregates).Draw(t, "aggregate")
	if m.sheds(agg) {
		return
	}
	run := slices.Clone(m.lane[agg])
	run = run[:min(len(run), rapid.IntRange(1, 3).Draw(t, "run"))]
	m.deliverRun(run)
}

func (m *model) deliverRun(run []*Record) {
	var withheld []string
	turns := make([]Action, len(run))
	for i, r := range run {
		turn := m.becomes(Turn{Record: r, Unsaved: m.unsaved(r)})
		if turn.Do == WaitOlder { // and all behind it with it
			run = run[:i]
			break
		}
		if turn.Do == Deliver {
			turn.Open = slices.DeleteFunc(turn.Open, func(t string) bool {
				if slices.Contains(withheld, t) {
					turn.Gated = append(turn.Gated, t)
					return true
				}
				return false
			})
			withheld = append(withheld, turn.Gated...)
		} else {
			m.left(turn)
		}
		turns[i] = turn
	}
	if !m.finishing && rapid.Bool().Draw(m.t, "event while in delivery") {
		m.mendTarget(m.t) // a breaker closes while the records are under way
	}
	for i, r := range run {
		if turns[i].Do == Deliver {
			m.t.Logf("deliver %s%d open %v gated %v live %v cursor %v", r.Aggregate, r.Version, turns[i].Open, turns[i].Gated, m.feed.live, m.feed.cursor.At.UnixMilli())
			m.deliverTo(r, turns[i].Open, turns[i].Gated)
		}
	}
}

// unsaved reports whether Firestore knows less of r than memory does.
func (m *model) unsaved(r *Record) bool {
	d := m.find(r)
	return d.retrying || len(d.targets) > len(r.Targets)
}

// deliverTo lets a record go to those of its open targets that are up.
func (m *model) deliverTo(r *Record, open, gated []string) {
	tried := Tried{Record: r, Gated: gated, Then: Parks}
	unknown := false
	for _, target := range open {
		switch {
		case !m.down[target]:
			m.received[target+"/"+r.Aggregate] = append(m.received[target+"/"+r.Aggregate], r.Version)
			tried.Acked = append(tried.Acked, target)
		case !m.finishing && rapid.IntRange(0, 3).Draw(m.t, "its breaker is not open yet") == 0:
			unknown = true // the attempt failed, and says nothing
		default:
			tried.Blocked = append(tried.Blocked, target)
		}
	}
	switch {
	case len(tried.Acked) == len(r.Targets):
		tried.Then = Ends
		m.step(tried)
		m.unqueue(r)
		m.find(r).done = true
		s := &Settlement{Record: r, Kind: End}
		m.step(Settle{s})
		m.step(Settled{s, m.tick()})
		return
	case unknown:
		tried.Then = Awaits
		m.step(tried)
		return
	case len(tried.Blocked)+len(gated) == 0:
		tried.Then = Ends
		m.step(tried)
		return
	}
	if !m.finishing && rapid.IntRange(0, 3).Draw(m.t, "an attempt failed before") == 0 {
		m.find(r).retrying = true
	}
	tried.Unsaved = m.find(r).retrying || len(tried.Acked) > 0 || m.unsaved(r)
	m.left(m.becomes(tried))
}

// left follows up on what becomes of a record that may leave memory.
func (m *model) left(a Action) {
	switch a.Do {
	case Forget:
		m.unqueue(a.Record)
	case SaveIt:
		m.unqueue(a.Record)
		s := &Settlement{Record: a.Record, Kind: Save}
		m.step(Settle{s})
		m.saving = append(m.saving, s)
	}
}

func (m *model) unqueue(r *Record) {
	m.lane[r.Aggregate] = slices.DeleteFunc(slices.Clone(m.lane[r.Aggregate]), func(each *Record) bool { return each == r })
	m.idle(r.Aggregate)
}

// commit writes the progress of the records that are leaving.
func (m *model) commit(*rapid.T) {
	for _, s := range m.saving {
		d := m.find(s.Record)
		d.targets, d.retrying = slices.Clone(s.Record.Targets), false
		d.sight.UpdateTime = m.tick()
		m.step(Settled{s, d.sight.UpdateTime})
	}
	m.saving = nil
}

func (m *model) find(r *Record) *modelDoc {
	return m.stored[slices.IndexFunc(m.stored, func(d *modelDoc) bool { return d.sight.ID == r.ID })]
}

func (m *model) breakTarget(t *rapid.T) {
	m.down[rapid.SampledFrom(modelTargets).Draw(t, "target")] = true
}

func (m *model) mendTarget(t *rapid.T) { m.mend(rapid.SampledFrom(modelTargets).Draw(t, "target")) }

func (m *model) mend(target string) {
	if m.down[target] {
		m.down[target] = false
		m.step(Answers{target})
	}
}

// freeze has an aggregate's records kept in Firestore, as the release of its freeze
// does.
func (m *model) freeze(t *rapid.T) {
	agg := rapid.SampledFrom(modelAggregates).Draw(t, "frozen")
	m.step(Stands{agg, Releasing})
	for _, r := range slices.Clone(m.lane[agg]) {
		m.left(m.becomes(Withdrawn{Record: r, Unsaved: m.unsaved(r)}))
	}
}

// thaw lets a released aggregate go on, once none of it is in memory.
func (m *model) thaw(t *rapid.T) { m.goOn(rapid.SampledFrom(modelAggregates).Draw(t, "released")) }

func (m *model) goOn(agg string) {
	if m.machine.Standing(agg) == Free || m.machine.Holds(agg) {
		return
	}
	thawed := Thawed{AggregateID: agg, Oldest: map[*Feed]Position{}}
	for _, d := range m.stored {
		if d.aggregate == agg && !d.done && !d.retrying && thawed.Oldest[m.feed].Zero() {
			thawed.Oldest[m.feed] = d.sight.Position()
		}
	}
	m.step(thawed)
}

func (m *model) check(t *rapid.T) {
	for key, versions := range m.received {
		seen := int64(0)
		for _, v := range versions {
			if v <= seen {
				t.Fatalf("%s received %v: out of order or twice", key, versions)
			}
			seen = v
		}
	}
	if n := m.machine.Size() - len(m.saving); n > RestingFactor*m.feed.capacity {
		t.Fatalf("%d records are in memory, %d may run", n, m.feed.capacity)
	}
	for _, d := range m.stored {
		if !d.done && !d.retrying && m.feed.Forgotten(m.record(d)) {
			t.Fatalf("record %s is forgotten: the feed has read past it, and nothing brings it", d.sight.ID)
		}
	}
}

// finish mends everything and lets all records through.
func (m *model) finish(t *rapid.T) {
	m.finishing = true
	for _, target := range modelTargets {
		m.mend(target)
	}
	m.hearShed(t)
	for range 40 * (len(m.stored) + 1) {
		for _, agg := range modelAggregates {
			m.goOn(agg)
		}
		m.goLive(t)
		m.drain(t)
		m.commit(t)
		for _, agg := range modelAggregates {
			for range len(m.lane[agg]) {
				m.deliverRun(slices.Clone(m.lane[agg][:min(1, len(m.lane[agg]))]))
			}
		}
	}
	m.check(t)
	for _, d := range m.stored {
		if !d.done {
			t.Logf("gates %v cursor %v live %v running %d resting %d lane %v held %v", m.feed.gates, m.feed.cursor, m.feed.live, m.feed.running, m.feed.resting, m.lane, m.machine.held)
			t.Fatalf("record %s of aggregate %s version %d was forgotten (missing at %v)", d.sight.ID, d.aggregate, d.version, d.targets)
		}
	}
	if n := m.machine.Size(); n != 0 {
		t.Fatalf("%d records left in memory", n)
	}
}

func tell(e Event) string {
	switch e := e.(type) {
	case Batch:
		return fmt.Sprintf("Batch gen %d up to %d reach %d: %v", e.Generation, e.UpTo.At.UnixMilli(), e.Reach, names(e.Records))
	case Back:
		return fmt.Sprintf("Back %s known %v: %v", e.Gate.target, e.Known, names(e.Records))
	case BackEnded:
		return fmt.Sprintf("BackEnded %s up to %d", e.Gate.target, e.UpTo.At.UnixMilli())
	case Turn:
		return fmt.Sprintf("Turn %s%d", e.Record.Aggregate, e.Record.Version)
	case Tried:
		return fmt.Sprintf("Tried %s%d acked %v then %d blocked %v gated %v unsaved %t", e.Record.Aggregate, e.Record.Version, e.Acked, e.Then, e.Blocked, e.Gated, e.Unsaved)
	case Settled:
		return fmt.Sprintf("Settled %s%d kind %d", e.Settlement.Record.Aggregate, e.Settlement.Record.Version, e.Settlement.Kind)
	case Settle:
		return fmt.Sprintf("Settle %s%d kind %d", e.Settlement.Record.Aggregate, e.Settlement.Record.Version, e.Settlement.Kind)
	case Withdrawn:
		return fmt.Sprintf("Withdrawn %s%d %t", e.Record.Aggregate, e.Record.Version, e.Unsaved)
	}
	return fmt.Sprintf("%T%+v", e, e)
}

func names(all []*Record) (out []string) {
	for _, r := range all {
		out = append(out, fmt.Sprintf("%s%d%v", r.Aggregate, r.Version, r.Targets))
	}
	return out
}

func tellAll(all []Action) (out []string) {
	for _, a := range all {
		text := fmt.Sprint(a.Do)
		if a.Record != nil {
			text += fmt.Sprintf(" %s%d", a.Record.Aggregate, a.Record.Version)
		}
		if a.Do == Deliver {
			text += fmt.Sprintf(" open %v gated %v", a.Open, a.Gated)
		}
		out = append(out, text)
	}
	return out
}
