package lease

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"outboxrelay/dlq"
)

// Collections of the model.
const (
	modelRecords = "box"
	modelLetters = "letters"
	modelFreezes = "freezes"
)

// truth is what really happened to a record.
type truth struct {
	aggregate string
	version   int
	failures  int // deliveries that failed
	arrivals  int
}

// freezing reports whether a dead letter of the aggregate freezes it.
func freezing(aggregate string) bool { return aggregate == "z" }

type recordState struct {
	status   string
	attempts int
}

func (s recordState) final() bool { return s.status == "delivered" || s.status == "dead" }

func decodeRecord(d dlq.Doc) recordState {
	attempts, _ := d.Fields["attempts"].(int64)
	return recordState{text(d, "status"), int(attempts)}
}

func (m *model) status(id string) recordState { return decodeRecord(m.server.docs[modelRecords][id]) }

// modelMost bounds the records of a play.
const modelMost = 8

// append has a producer append a record.
func (m *model) append() {
	aggregate := []string{"x", "x", "z"}[m.choose(3)]
	m.last[aggregate]++
	id := fmt.Sprint(aggregate, m.last[aggregate])
	m.records[id] = &truth{aggregate: aggregate, version: m.last[aggregate]}
	m.note("%s is appended", id)
	m.mustCommit(dlq.Write{Collection: modelRecords, ID: id, Op: dlq.OpCreate, Fields: map[string]any{"status": "pending", "attempts": 0}})
}

func (m *model) mustCommit(writes ...dlq.Write) {
	if _, err := m.commit(writes); err != nil {
		panic(err)
	}
}

// releaseFreeze has an operator release what is frozen.
func (m *model) releaseFreeze() {
	for _, aggregate := range slices.Sorted(maps.Keys(m.server.docs[modelFreezes])) {
		m.thaw(aggregate)
	}
}

func (m *model) thaw(aggregate string) {
	m.note("%s is released", aggregate)
	writes := []dlq.Write{{Collection: modelFreezes, ID: aggregate, Op: dlq.OpDelete}}
	for _, id := range slices.Sorted(maps.Keys(m.records)) {
		if m.records[id].aggregate == aggregate && m.status(id).status == "held" {
			writes = append(writes, dlq.Write{Collection: modelRecords, ID: id, Op: dlq.OpUpdate, Fields: map[string]any{"status": "pending"}})
		}
	}
	m.mustCommit(writes...)
}

// commit applies writes and judges what they did.
func (m *model) commit(writes []dlq.Write) (time.Time, error) {
	m.clock = m.clock.Add(time.Millisecond)
	before := maps.Clone(m.server.docs[modelRecords])
	letters := maps.Clone(m.server.docs[modelLetters])
	at, err := m.server.Commit(context.Background(), writes)
	for id, d := range m.server.docs[modelRecords] {
		if !d.UpdateTime.Equal(before[id].UpdateTime) {
			m.judge(id, decodeRecord(before[id]), decodeRecord(d), letters)
		}
	}
	for id := range m.server.docs[modelLetters] {
		if _, was := letters[id]; !was && m.status(id).status != "dead" {
			m.violate("%s has a dead letter and is %s", id, m.status(id).status)
		}
	}
	return at, err
}

// judge judges one record's change.
func (m *model) judge(id string, was, is recordState, letters map[string]dlq.Doc) {
	r := m.records[id]
	_, hadLetter := letters[id]
	_, frozen := m.server.docs[modelFreezes][r.aggregate]
	switch {
	case was.status == "delivered" && is.status != "delivered":
		m.violate("%s was delivered and becomes %s", id, is.status)
	case was.status == "dead" && !is.final(): // a late mark of delivery is true
		m.violate("%s was dead and becomes %s", id, is.status)
	case is.attempts < was.attempts:
		m.violate("attempts of %s go back from %d to %d", id, was.attempts, is.attempts)
	case is.attempts > r.failures:
		m.violate("%d attempts of %s, which failed %d times", is.attempts, id, r.failures)
	case is.status == "delivered" && r.arrivals == 0:
		m.violate("%s is marked as delivered and never arrived", id)
	case is.status == "dead" && was.status != "dead" && hadLetter:
		m.violate("%s dies though it had a dead letter", id)
	case is.status == "dead" && was.status != "dead" && m.server.docs[modelLetters][id].UpdateTime.IsZero():
		m.violate("%s is dead without a dead letter", id)
	case is.status == "dead" && was.status != "dead" && r.failures < deadAfter:
		m.violate("%s is dead after %d failures", id, r.failures)
	case is.status == "dead" && was.status != "dead" && freezing(r.aggregate) && !frozen:
		m.violate("%s is dead and its aggregate is not frozen", id)
	}
}

// buried reports whether a record of the aggregate has a dead letter.
func (m *model) buried(aggregate string) bool {
	for id := range m.server.docs[modelLetters] {
		if m.records[id].aggregate == aggregate {
			return true
		}
	}
	return false
}

// arrive has a record arrive at its target. An order is promised as long as none
// of an aggregate is dead-lettered.
func (m *model) arrive(id string) {
	r := m.records[id]
	r.arrivals++
	if r.arrivals > 1 {
		return
	}
	if m.buried(r.aggregate) {
		return
	}
	for other, o := range m.records {
		if o.aggregate == r.aggregate && o.version > r.version && o.arrivals > 0 {
			m.violate("%s arrives after %s", id, other)
		}
	}
}
