package feed

import (
	"slices"
	"time"

	"outboxrelay/contracts"
)

// Machine knows what the relay holds of one share of an outbox. It is used by one
// goroutine at a time.
type Machine struct {
	feeds   []*Feed
	held    map[string]*Record // by document ID
	writing int                // records with a settlement on its way, also of such as are not held any more
	settled settlements
	heard   time.Time // the latest server time that was seen
	// leaving are the records that leave memory, by aggregate: a younger one must not
	// be taken before they are read again.
	leaving map[string][]*Record
	// burying counts the dead letters on their way of records whose attempts are
	// used up, by aggregate: until they are written, a crash would have them
	// delivered after younger ones.
	burying map[string]int
	// queued are the records that had no turn in their lane yet, by aggregate, the oldest
	// first.
	queued map[string][]*Record
	// standings are how aggregates stand that are not free, by aggregate ID.
	standings map[string]Standing

	actions []Action // of the event that is being taken in
}

// New makes a machine without feeds.
func New() *Machine {
	return &Machine{
		held: make(map[string]*Record), settled: make(settlements), leaving: make(map[string][]*Record), burying: make(map[string]int),
		queued: make(map[string][]*Record), standings: make(map[string]Standing),
	}
}

// Judgement is what is known of a document that was read.
type Judgement int

const (
	// Unknown: decode it, then give it to the machine.
	Unknown Judgement = iota
	// Known: it is in memory, or was settled after this read.
	Known
	// Leaving: it is in memory and about to leave, soon: read it again once it has.
	Leaving
	// Doubtful: it may have been settled after this read, which is forgotten: read it
	// again.
	Doubtful
)

// Judge judges a document that a lane's feed read, before it is decoded; without a
// lane, one that was searched. For Leaving it returns the record that leaves.
func (m *Machine) Judge(d Sight, by contracts.Lane) (j Judgement, leaves *Record) {
	if d.ReadTime.After(m.heard) {
		m.heard = d.ReadTime
	}
	if r, ok := m.held[d.ID]; ok {
		if r.stage == stageLeaving && !r.lingers {
			return Leaving, r
		}
		return Known, nil
	}
	return m.settled.judge(d, by), nil
}

// do adds an action.
func (m *Machine) do(a Action) { m.actions = append(m.actions, a) }

// has reports whether r is in memory, or was settled since f read it.
func (m *Machine) has(r *Record, f *Feed) bool {
	return m.held[r.ID] != nil || m.settled.judge(r.Sight, f.Lane) == Known
}

// admit takes r, which is not there, into memory.
func (m *Machine) admit(r *Record) {
	m.held[r.ID] = r
	r.changed = r.UpdateTime
	r.ahead = r.Origin == Searched
	m.queue(r)
	if r.takesRoom() {
		r.Home.running++
		r.Home.memory.Use(r.Size, 0)
	}
}

// found takes a record into memory that no feed brought, unless it is there, or has
// to stay in Firestore until its aggregate goes on. One in backoff is taken even
// then: it has to become pending again first.
func (m *Machine) found(r *Record) {
	switch {
	case m.held[r.ID] != nil, m.settled.judge(r.Sight, "") == Known:
		return
	case m.standings[r.AggregateID].shut() && !r.Faulty && !r.Retrying:
		return
	}
	m.admit(r)
	m.do(Action{Do: Submit, Record: r})
}

// remove takes r out of memory. at is the server's time of the commit that settled
// it; zero when nothing was written.
func (m *Machine) remove(r *Record, at time.Time) {
	if m.held[r.ID] != r {
		return
	}
	delete(m.held, r.ID)
	m.unqueue(r)
	m.hasLeft(r)
	m.buried(r)
	if !at.IsZero() {
		m.settled.add(r.settledIn(), r.ID, settled{at: instantOf(at)})
	}
	f := r.feed()
	if f == nil {
		return
	}
	switch {
	case !r.takesRoom():
	case r.resting:
		f.memory.Use(0, -r.Size)
		f.resting--
	default:
		f.memory.Use(-r.Size, 0)
		f.running--
	}
	r.resting = false
	f.gone(r)
	f.haveRoom()
}

// settledIn is the lane whose settlements remember r.
func (r *Record) settledIn() contracts.Lane {
	if f := r.feed(); f != nil {
		return f.Lane
	}
	return ""
}

// haveRoom tells that there may be room again.
func (f *Feed) haveRoom() {
	f.machine.do(Action{Do: HaveRoom, Feed: f})
	if len(f.gates) > 0 {
		f.machine.do(Action{Do: DrainOn, Feed: f})
	}
}

// bury notes that r is about to be dead-lettered, and buried that it was.
func (m *Machine) bury(r *Record) {
	if !r.burying {
		r.burying = true
		m.burying[r.Aggregate]++
	}
}

func (m *Machine) buried(r *Record) {
	if !r.burying {
		return
	}
	r.burying = false
	if m.burying[r.Aggregate]--; m.burying[r.Aggregate] == 0 {
		delete(m.burying, r.Aggregate)
	}
}

// rest moves r between the records that wait for a retry and those that run.
// Resting ones do not fill their feed's room.
func (m *Machine) rest(r *Record, resting bool) {
	f := r.feed()
	if f == nil || r.resting == resting || m.held[r.ID] != r {
		return
	}
	r.resting = resting
	if !r.takesRoom() {
		return
	}
	if resting {
		f.memory.Use(-r.Size, r.Size)
		f.running--
		f.resting++
		f.haveRoom()
	} else {
		f.memory.Use(r.Size, -r.Size)
		f.running++
		f.resting--
	}
}

// Changed returns the update time on which a write of r has to insist.
func (m *Machine) Changed(r *Record) time.Time { return r.changed }

// Held returns the record of a document that is in memory; nil: it is not.
func (m *Machine) Held(id string) *Record { return m.held[id] }

// Holds reports whether any record of an aggregate is in memory. It walks all that
// is.
func (m *Machine) Holds(aggregateID string) bool {
	for _, r := range m.held {
		if r.AggregateID == aggregateID {
			return true
		}
	}
	return false
}

// Leaves reports whether r is about to leave memory, soon.
func (m *Machine) Leaves(r *Record) bool {
	return !r.lingers && slices.Contains(m.leaving[r.Aggregate], r)
}

// Quiet reports whether nothing is in memory and nothing is being written.
func (m *Machine) Quiet() bool { return len(m.held) == 0 && m.writing == 0 }

// Size returns how many records are in memory.
func (m *Machine) Size() int { return len(m.held) }

// Each calls f with every record in memory.
func (m *Machine) Each(f func(*Record)) {
	for _, r := range m.held {
		f(r)
	}
}
