package relay

import (
	"sync"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// ledger is the shell around the feeds of an outbox: it hands their state machine
// what happened, one event at a time, and tells whoever waits for what comes of it.
type ledger struct {
	mu      sync.Mutex
	machine *feed.Machine
}

func newLedger() *ledger { return &ledger{machine: feed.New()} }

// step hands over an event. It tells whoever waits; what else is to be done about
// the event is the caller's.
func (l *ledger) step(e feed.Event) []feed.Action {
	actions, _ := l.take(e, nil)
	return actions
}

// fewActions is how many actions most events leave to the caller at most, who has room
// for them.
const fewActions = 2

// take is step that adds the actions to rest, and tells how far records that were read
// were taken in.
func (l *ledger) take(e feed.Event, rest []feed.Action) ([]feed.Action, feed.Taken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	actions, taken := l.machine.Step(e)
	for _, a := range actions {
		switch a.Do {
		case feed.HaveRoom:
			signal(intakeOf(a).room)
		case feed.DrainOn:
			signal(intakeOf(a).drains)
		case feed.ReadOn:
			signal(intakeOf(a).rewound)
		case feed.Wake:
			entryOf(a.Record).wake()
		default:
			rest = append(rest, a)
		}
	}
	return rest, taken
}

// becomes hands over an event and returns what becomes of its record.
func (l *ledger) becomes(e feed.Event) feed.Action {
	var few [fewActions]feed.Action
	actions, _ := l.take(e, few[:0])
	return actions[len(actions)-1]
}

func intakeOf(a feed.Action) *intake { return a.Feed.Owner.(*intake) }

func entryOf(r *feed.Record) *entry { return r.Owner.(*entry) }

// judge judges a document that an intake read, before it is decoded; without one,
// a document that was searched. leaves is the record that leaves, for feed.Leaving.
func (l *ledger) judge(d Doc, by *intake) (j feed.Judgement, leaves *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lane contracts.Lane
	if by != nil {
		lane = by.lane
	}
	j, r := l.machine.Judge(d.sight(), lane)
	if r != nil {
		leaves = entryOf(r)
	}
	return j, leaves
}

// look reads the state machine.
func look[T any](l *ledger, f func(*feed.Machine) T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f(l.machine)
}

// quiet reports whether nothing is in memory and nothing is being written.
func (l *ledger) quiet() bool { return look(l, (*feed.Machine).Quiet) }

// size returns how many records are in memory.
func (l *ledger) size() int { return look(l, (*feed.Machine).Size) }

// standing returns how an aggregate stands with the freezes.
func (l *ledger) standing(aggregateID string) feed.Standing {
	return look(l, func(m *feed.Machine) feed.Standing { return m.Standing(aggregateID) })
}

// holds reports whether any record of an aggregate is in memory.
func (l *ledger) holds(aggregateID string) bool {
	return look(l, func(m *feed.Machine) bool { return m.Holds(aggregateID) })
}

// signal puts a token into a channel of capacity one, if there is none.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
