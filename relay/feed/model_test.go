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
// aggregates are frozen and released. Commits may take long. Some are in backoff at the start. Whatever the order, each record reaches each of its targets, those
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
			"linger":  m.linger,
			"break":   m.breakTarget,
			"mend":    m.mendTarget,
			"freeze":  m.freeze,
			"thaw":    m.thaw,
			"shed":    m.shed,
			"hear":    m.hearShed,
			"idle":    m.anotherIsIdle,
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

	finishing         bool
	reading, draining bool // a page is: there is one reader, and one drain
	submitting        bool // what was taken is about to be submitted, before anything else is taken
	making            bool // a run is being made up: neither another is, nor does its lane give any of it back
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

func byVersion(a, b *Record) int { return cmp.Compare(a.Version, b.Version) }

// deliver hands out a run of an aggregate. As in its lane, what each record of
// it may be delivered to is decided before any is, and other things happen meanwhile.
func (m *model) deliver(t *rapid.T) {
	agg := rapid.SampledFrom(modelAggregates).Draw(t, "aggregate")
	if m.sheds(agg) {
		return
	}
	if m.making {
		return
	}
	run := slices.Clone(m.lane[agg])
	run = run[:min(len(run), rapid.IntRange(1, 3).Draw(t, "run"))]
	m.deliverRun(run)
}

func (m *model) deliverRun(run []*Record) {
	var withheld []string
	turns := make([]Action, len(run))
	m.making = true
	for i, r := range run {
		m.amidARun()
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
	m.making = false
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

// amidARun is what may happen while a run is made up.
func (m *model) amidARun() {
	if m.finishing || rapid.IntRange(0, 3).Draw(m.t, "something happens meanwhile") > 0 {
		return
	}
	what := []func(*rapid.T){m.commit, m.mendTarget}
	if !m.submitting && !m.reading {
		what = append(what, m.read)
	}
	if !m.submitting && !m.draining {
		what = append(what, m.drain)
	}
	rapid.SampledFrom(what).Draw(m.t, "what")(m.t)
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
	if m.making {
		return
	}
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
