package relay

import (
	"sync"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// memory bounds what the records of a lane take up, those of all outboxes of
// this instance together: whatever the backlog, and however large its payloads.
// It is full when they use limit bytes. Then a feed still takes records until it
// uses its share, so that one outbox whose records stay (they fail, or what they
// wait for is slow) does not stop the others; the lane then uses twice the limit at
// most, and one record a feed. Records that wait for a retry are counted apart, as
// those that fail must not hold back the others: with them all of it is
// feed.RestingFactor times as much.
type memory struct {
	limit, share int64 // bytes

	mu      sync.Mutex
	usage                    // of all feeds
	waiting map[*intake]bool // for room
}

// usage is what records take up, in bytes.
type usage struct {
	running, resting int64
}

// under reports whether there is room for one more record.
func (u usage) under(limit int64) bool {
	return u.running < limit && u.running+u.resting < feed.RestingFactor*limit
}

// recordOverhead is about what a record in memory takes up beside its envelope,
// in bytes: itself, its attributes, its place in lane and ledger.
const recordOverhead = 2 << 10

func newMemory(limit int64, feeds int) *memory {
	return &memory{limit: limit, share: max(1, limit/int64(max(1, feeds))), waiting: make(map[*intake]bool)}
}

// room reports whether in may take one more record. If not, its room is signalled
// once it may be.
func (m *memory) room(in *intake) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.roomLocked(in) {
		return true
	}
	m.waiting[in] = true
	return false
}

func (m *memory) roomLocked(in *intake) bool { return m.under(m.limit) || in.usage.under(m.share) }

// use notes that in's records take up so many bytes more.
func (m *memory) use(in *intake, running, resting int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changeLocked(in, running, resting)
}

// giveAll is the end of in: whatever it still has is not the relay's to keep.
func (m *memory) giveAll(in *intake) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changeLocked(in, -in.usage.running, -in.usage.resting)
	in.ended = true
	delete(m.waiting, in)
}

func (m *memory) changeLocked(in *intake, running, resting int64) {
	if in.ended {
		return // it gave all back
	}
	for _, u := range []*usage{&m.usage, &in.usage} {
		u.running += running
		u.resting += resting
	}
	for each := range m.waiting {
		if m.roomLocked(each) {
			delete(m.waiting, each)
			signal(each.room)
		}
	}
}

// inUse returns how many bytes the lane's records take up now.
func (m *memory) inUse() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running + m.resting
}

// newMemories makes one for each lane, for all shares of the catalog, which this
// instance may come to own and any of which may come to read any lane.
func newMemories(c *contracts.Catalog) map[contracts.Lane]*memory {
	all := make(map[contracts.Lane]*memory)
	for _, lane := range contracts.Lanes() {
		all[lane] = newMemory(int64(c.Lanes[lane].InFlightMiB)<<20, len(c.Shares()))
	}
	return all
}
