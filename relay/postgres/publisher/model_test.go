package publisher

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

const (
	simAttempts = 3
	simBatch    = 6
)

// model is several publishers over one table, with producers that commit late, and a topic that
// fails. Publishers die and become zombies: their transaction is gone, and what they send arrives.
type model struct {
	*rapid.T
	table     simTable
	rounds    []*simRound
	delivered map[uuid.UUID]bool
	counted   map[uuid.UUID]bool // refused at least once
	out       bool               // the topic is
	clock     int64
}

// Append begins a producer's transaction, which commits later, or at once. Its clock may be behind.
func (m *model) Append(t *rapid.T) {
	m.clock++
	skew := rapid.Int64Range(-3, 3).Draw(t, "skew")
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[8:], uint64(m.clock))
	id[0] = rapid.Byte().Draw(t, "id")
	m.table.rows = append(m.table.rows, &simRow{
		id: id, aggregate: aggregate{"store", uuid.UUID{rapid.ByteRange(1, 2).Draw(t, "aggregate")}},
		createdAt: time.Unix(m.clock+skew, 0), visible: rapid.Bool().Draw(t, "at once"),
		poison: rapid.IntRange(0, 9).Draw(t, "poison") == 0,
	})
}

// Commit ends a producer's transaction, or rolls it back.
func (m *model) Commit(t *rapid.T) {
	for _, r := range m.table.rows {
		if !r.visible && !r.gone && rapid.Bool().Draw(t, "ends") {
			r.visible = rapid.IntRange(0, 3).Draw(t, "rolls back") > 0
			r.gone = !r.visible
		}
	}
}

// Claim begins a round.
func (m *model) Claim(t *rapid.T) {
	round := m.table.claim(rapid.Bool().Draw(t, "near"), rapid.IntRange(1, simBatch).Draw(t, "batch"), simAttempts, func(*simRow) bool { return rapid.Bool().Draw(t, "takes") })
	if len(round.runs) == 0 {
		round.release()
		return
	}
	m.rounds = append(m.rounds, round)
}

// pick is one of the rounds that are under way.
func (m *model) pick(t *rapid.T) (int, *simRound) {
	if len(m.rounds) == 0 {
		t.Skip("no round")
	}
	i := rapid.IntRange(0, len(m.rounds)-1).Draw(t, "round")
	return i, m.rounds[i]
}

// Send has one request of a round arrive, or fail.
func (m *model) Send(t *rapid.T) {
	_, round := m.pick(t)
	for i := range round.runs {
		if !round.ended[i] && rapid.Bool().Draw(t, "sends") {
			m.send(round, i, rapid.IntRange(1, 3).Draw(t, "messages"))
			return
		}
	}
}

// send has up to n messages of a run arrive.
func (m *model) send(round *simRound, i, n int) {
	rows := round.runs[i]
	outcomes := make([]ier.Outcome, 0, len(rows))
	for range round.sent[i] {
		outcomes = append(outcomes, acked)
	}
	for len(outcomes) < len(rows) && n > 0 {
		n--
		r := m.table.row(rows[len(outcomes)].id)
		switch {
		case m.out:
			outcomes = append(outcomes, failed(contracts.Outage, "out"))
			n = 0
		case r.poison:
			outcomes = append(outcomes, failed(contracts.Permanent, "poison"))
			m.counted[r.id] = true
			n = 0
		default:
			m.arrives(round, r)
			outcomes = append(outcomes, acked)
			round.sent[i]++
			continue
		}
	}
	if len(outcomes) == round.sent[i] && round.sent[i] < len(rows) {
		return // the next request follows
	}
	for len(outcomes) < len(rows) {
		outcomes = append(outcomes, behind)
	}
	round.ended[i] = true
	round.results.judge(rows, outcomes, func(time.Time) bool { return m.out })
}

// arrives holds a first delivery to the order: each older row that its claim could see has arrived.
func (m *model) arrives(round *simRound, r *simRow) {
	if m.delivered[r.id] {
		return
	}
	m.delivered[r.id] = true
	if !r.visible {
		m.Fatalf("row %s arrived, which is not committed", r.id)
	}
	for older := range round.seen {
		if older.aggregate == r.aggregate && older.before(r) && !m.delivered[older.id] {
			m.Fatalf("row %s arrived before %s of its aggregate", r.id, older.id)
		}
	}
}

// Mark ends a round whose calls have come to their end, and loses the marks of a dead one.
func (m *model) Mark(t *rapid.T) {
	i, round := m.pick(t)
	for _, ended := range round.ended {
		if !ended {
			t.Skip("calls are under way")
		}
	}
	m.end(i, round)
}

func (m *model) end(i int, round *simRound) {
	if !round.dead {
		m.table.commit(round)
	}
	m.rounds = append(m.rounds[:i:i], m.rounds[i+1:]...)
}

// Dies ends a publisher, or its connection alone: then it goes on as a zombie.
func (m *model) Dies(t *rapid.T) {
	i, round := m.pick(t)
	round.release()
	round.dead = true
	if rapid.Bool().Draw(t, "whole") {
		m.rounds = append(m.rounds[:i:i], m.rounds[i+1:]...)
	}
}

// UnknownCommit has a commit take effect, and the publisher not know.
func (m *model) UnknownCommit(t *rapid.T) {
	i, round := m.pick(t)
	for _, ended := range round.ended {
		if !ended {
			t.Skip("calls are under way")
		}
	}
	if !round.dead {
		m.table.commit(round)
	}
	m.rounds = append(m.rounds[:i:i], m.rounds[i+1:]...)
}

// Outage begins one, or ends it.
func (m *model) Outage(*rapid.T) { m.out = !m.out }

// Retry is an operator's, of parked rows and others. It waits for the lock of a row.
func (m *model) Retry(t *rapid.T) {
	for _, r := range m.table.rows {
		if r.visible && !r.published && r.locked == nil && rapid.Bool().Draw(t, "retries") {
			r.attempts = 0
		}
	}
}

// check holds what is always so.
func (m *model) check(t *rapid.T) {
	for _, r := range m.table.rows {
		switch {
		case r.published && !m.delivered[r.id]:
			t.Fatalf("row %s is marked, and did not arrive", r.id)
		case r.attempts > 0 && !m.counted[r.id]:
			t.Fatalf("row %s has an attempt, and was never refused", r.id)
		case r.attempts > simAttempts:
			t.Fatalf("row %s has %d attempts", r.id, r.attempts)
		}
	}
}

// settle mends all there is, and lets one publisher work until nothing is left.
func (m *model) settle(t *rapid.T) {
	m.out = false
	for _, r := range m.table.rows {
		r.poison, r.attempts = false, 0
		if !r.visible {
			r.gone = true
		}
	}
	for _, round := range m.rounds {
		round.release()
		round.dead = true
	}
	for {
		round := m.table.claim(false, simBatch, simAttempts, func(*simRow) bool { return true })
		if len(round.runs) == 0 {
			round.release()
			break
		}
		for i := range round.runs {
			m.send(round, i, len(round.runs[i]))
		}
		m.table.commit(round)
	}
	for _, r := range m.table.rows {
		if r.visible && (!r.published || !m.delivered[r.id]) {
			t.Fatalf("row %s is lost", r.id)
		}
		if r.gone && m.delivered[r.id] {
			t.Fatalf("row %s was rolled back, and arrived", r.id)
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{T: t, delivered: map[uuid.UUID]bool{}, counted: map[uuid.UUID]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"": m.check, "append": m.Append, "append more": m.Append, "commit": m.Commit, "claim": m.Claim, "claim beside": m.Claim,
			"send": m.Send, "send more": m.Send, "send again": m.Send, "mark": m.Mark, "mark too": m.Mark,
			"dies": m.Dies, "unknown commit": m.UnknownCommit, "outage": m.Outage, "retry": m.Retry,
		})
		m.settle(t)
	})
}
