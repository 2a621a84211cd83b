package feed

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"
)

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
	m.checkOldest(t)
}

// checkOldest wants no record, but of those that wait for a person, older than all that
// a feed without room knows of.
func (m *model) checkOldest(t *rapid.T) {
	if m.feed.Room() {
		return
	}
	oldest := m.feed.Unread()
	older := func(at time.Time) {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	m.machine.Each(func(r *Record) {
		if !r.Over() {
			older(r.CreatedAt)
		}
	})
	m.feed.Behind(func(b Behind) {
		if b.Records > 0 && !b.Frozen {
			older(b.From.At)
		}
	})
	for _, d := range m.stored {
		if !d.done && !m.machine.Standing(d.aggregate).shut() && d.sight.CreatedAt.Before(oldest) {
			t.Fatalf("record %s waits since %d, and the oldest that is known since %d", d.sight.ID, d.sight.CreatedAt.UnixMilli(), oldest.UnixMilli())
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
