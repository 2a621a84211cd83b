package feed

import (
	"slices"

	"pgregory.net/rapid"
)

// shed has the lane hand out what is too many of an aggregate behind its head, which
// begins to wait. The feed hears of it a little later; until then nothing of the
// aggregate runs.
func (m *model) shed(t *rapid.T) {
	agg := rapid.SampledFrom(modelAggregates).Draw(t, "waits")
	queue := m.lane[agg]
	behind := 1 + rapid.IntRange(0, 2).Draw(t, "stay")
	if len(queue) <= behind {
		return
	}
	m.lane[agg] = slices.Clone(queue[:behind])
	for _, r := range queue[behind:] {
		if r.Origin != Read { // it came by itself, and stays
			m.lane[agg] = append(m.lane[agg], r)
			continue
		}
		m.isRefused(r)
		m.handed = append(m.handed, r)
	}
}

// isRefused notes that the lane refuses what comes behind r.
func (m *model) isRefused(r *Record) {
	if at, full := m.refused[r.Aggregate]; !full || r.Version < at {
		m.refused[r.Aggregate] = r.Version
	}
}

// sheds reports whether the lane has handed out some of the aggregate, and the feed
// has not heard of it.
func (m *model) sheds(agg string) bool {
	return slices.ContainsFunc(m.handed, func(r *Record) bool { return r.Aggregate == agg })
}

// hearShed has the feed hear of it.
func (m *model) hearShed(*rapid.T) {
	handed := m.handed
	for _, r := range handed {
		m.left(m.becomes(Refused{Record: r, By: m.feed.Lane, Unsaved: m.unsaved(r)}))
	}
	m.handed = nil
	for _, agg := range modelAggregates {
		m.idle(agg)
	}
}
