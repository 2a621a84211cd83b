package relay

import (
	"sync"

	"outboxrelay/dlq"
)

// replays knows which dead letters are being replayed, and which of them met
// outages of targets that answer others.
type replays struct {
	mu       sync.Mutex
	underWay map[string]struct{}
	outages  map[string]int // by item
}

// outageMemory bounds replays.outages. Beyond it all are forgotten: such
// records only wait longer.
const outageMemory = 10_000

func (p *replays) begin(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.underWay[id]; ok {
		return false
	}
	if p.underWay == nil {
		p.underWay = make(map[string]struct{})
	}
	p.underWay[id] = struct{}{}
	return true
}

func (p *replays) end(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.underWay, id)
}

// outage counts an outage failure of an item and returns how many there were
// in a row.
func (p *replays) outage(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outages == nil || len(p.outages) >= outageMemory {
		p.outages = make(map[string]int)
	}
	p.outages[id]++
	return p.outages[id]
}

func (p *replays) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.outages, id)
}

// Outcomes of a round of replay, as metric labels.
const (
	replayDelivered   = "delivered"   // every missing target has it
	replayFailed      = "failed"      // an attempt that counts
	replayBlocked     = "blocked"     // an outage
	replayInterrupted = "interrupted" // given up by a stop, or unknown
)

func replayOutcomes() []string {
	return []string{replayDelivered, replayFailed, replayBlocked, replayInterrupted}
}

func replayOutcome(round dlq.Round, err error) string {
	switch {
	case err != nil:
		return replayInterrupted
	case len(round.Failed) > 0:
		return replayFailed
	case len(round.Blocked) > 0:
		return replayBlocked
	}
	return replayDelivered
}
