package publisher

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"
)

// simRow is a row of a table in memory.
type simRow struct {
	id        uuid.UUID
	aggregate aggregate
	createdAt time.Time
	visible   bool // committed
	gone      bool // rolled back
	published bool
	attempts  int
	locked    *simRound
	poison    bool // the topic refuses it
}

func (r *simRow) before(other *simRow) bool {
	if !r.createdAt.Equal(other.createdAt) {
		return r.createdAt.Before(other.createdAt)
	}
	return bytes.Compare(r.id[:], other.id[:]) < 0
}

// simRound is one transaction of a publisher, with what it may publish.
type simRound struct {
	locks   []*simRow
	seen    map[*simRow]bool // what its snapshot held
	runs    []run
	sent    []int // of each run: messages with an answer
	ended   []bool
	results *verdict
	dead    bool // its transaction has ended without a mark; what it sends may still arrive
}

// simTable is the table, in the order of the claim.
type simTable struct{ rows []*simRow }

// claim does what claimSQL does: it locks heads that nobody has, some of them, and rows behind them up
// to batch, of which those that are locked are left out. A near one does what nearSQL does: it locks
// whatever nobody has.
func (s *simTable) claim(near bool, batch, maxAttempts int, takes func(*simRow) bool) *simRound {
	round := &simRound{seen: map[*simRow]bool{}, results: &verdict{}}
	var unpublished []*simRow
	for _, r := range s.rows {
		if r.visible {
			round.seen[r] = true
			if !r.published {
				unpublished = append(unpublished, r)
			}
		}
	}
	slices.SortFunc(unpublished, func(a, b *simRow) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	places := map[aggregate]int64{}
	mine := map[aggregate]bool{}
	var claimed []*row
	for _, r := range unpublished {
		places[r.aggregate]++
		place := places[r.aggregate]
		if place == 1 && r.locked == nil && takes(r) {
			mine[r.aggregate] = true
		}
		if !near && !mine[r.aggregate] || len(claimed) == batch {
			continue
		}
		if r.locked == nil {
			r.locked = round
			round.locks = append(round.locks, r)
			claimed = append(claimed, &row{id: r.id, aggregate: r.aggregate, createdAt: r.createdAt, attempts: r.attempts, place: place})
		}
	}
	round.runs = plan(claimed, maxAttempts, 0).runs
	round.sent, round.ended = make([]int, len(round.runs)), make([]bool, len(round.runs))
	return round
}

func (s *simTable) row(id uuid.UUID) *simRow {
	i := slices.IndexFunc(s.rows, func(r *simRow) bool { return r.id == id })
	return s.rows[i]
}

// release ends a round's transaction.
func (round *simRound) release() {
	for _, r := range round.locks {
		r.locked = nil
	}
	round.locks = nil
}

// commit writes the marks down.
func (s *simTable) commit(round *simRound) {
	ids, reasons, _ := round.results.marks()
	for i, id := range ids {
		if r := s.row(id); reasons[i] == nil {
			r.published = true
		} else {
			r.attempts++
		}
	}
	round.release()
}
