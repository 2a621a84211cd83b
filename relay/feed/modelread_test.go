package feed

import (
	"slices"

	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

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
	case 3:
		m.linger(m.t)
	}
}

// linger has a record that leaves memory do so for long.
func (m *model) linger(t *rapid.T) {
	if len(m.saving) > 0 {
		m.step(Lingers{rapid.SampledFrom(m.saving).Draw(t, "lingers").Record})
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
	m.reading = true
	defer func() { m.reading = false }()
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
	m.submitting = true
	defer func() { m.submitting = false }()
	m.meanwhile()
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
			m.step(Refused{Record: r, By: m.feed.Lane})
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
		m.step(Idle{agg, m.feed.Lane})
	}
}

// anotherIsIdle tells that another lane has none left, in which the aggregate stands too.
func (m *model) anotherIsIdle(t *rapid.T) {
	m.step(Idle{rapid.SampledFrom(modelAggregates).Draw(t, "aggregate"), contracts.CriticalLane})
}

// drain brings back a page of what was left behind a target's gate, with
// deliveries and commits in between.
func (m *model) drain(t *rapid.T) {
	page, ok := m.feed.BeginBack()
	if !ok {
		return
	}
	m.draining = true
	defer func() { m.draining = false }()
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
