package dlq

import (
	"outboxrelay/contracts"
)

// Action is what moves a dead letter from one place to another.
type Action string

// What people decide.
const (
	Replay    Action = "replay"    // deliver it now, to the targets still missing
	Discard   Action = "discard"   // give it up
	Authorize Action = "authorize" // allow its replay
	Withdraw  Action = "withdraw"  // take the request for its replay back, and the authorization
	Note      Action = "note"      // write something down about it
)

// What the service finds.
const (
	Delivered Action = "delivered" // a replay reached every target
	Failed    Action = "failed"    // a replay did not, another may
	Exhausted Action = "exhausted" // the last automatic replay did not
)

// Place is where a dead letter stands.
type Place struct {
	Tier      contracts.Tier
	State     contracts.DeadState
	Replaying bool // a person asked for a replay that has not ended
}

// Transition is one row of the table.
type Transition struct {
	From   Place
	Action Action
	To     Place
	// By is the least role that may; NoRole: the service alone.
	By Role
}

// Transitions is the table of all that can happen to a dead letter. Nothing
// but OrphanTransitions and LateTransitions changes a state otherwise.
func Transitions() []Transition {
	const (
		safe, review, block = contracts.SafeAuto, contracts.ReviewRequired, contracts.SecurityBlock
		scheduled, awaiting = contracts.DeadScheduled, contracts.DeadAwaitingReview
		blocked, authorized = contracts.DeadBlocked, contracts.DeadAuthorized
		replayed, discarded = contracts.DeadReplayed, contracts.DeadDiscarded
	)
	rows := []Transition{
		// SAFE_AUTO replays by itself; an operator may hasten it.
		{Place{safe, scheduled, false}, Replay, Place{safe, scheduled, true}, Operator},
		{Place{safe, scheduled, false}, Delivered, Place{safe, replayed, false}, NoRole},
		{Place{safe, scheduled, false}, Failed, Place{safe, scheduled, false}, NoRole},
		{Place{safe, scheduled, false}, Exhausted, Place{review, awaiting, false}, NoRole},
		{Place{safe, scheduled, true}, Delivered, Place{safe, replayed, false}, NoRole},
		{Place{safe, scheduled, true}, Failed, Place{safe, scheduled, false}, NoRole},
		{Place{safe, scheduled, true}, Exhausted, Place{review, awaiting, false}, NoRole},
		// REVIEW_REQUIRED waits for an operator.
		{Place{review, awaiting, false}, Replay, Place{review, awaiting, true}, Operator},
		{Place{review, awaiting, false}, Discard, Place{review, discarded, false}, Operator},
		{Place{review, awaiting, true}, Withdraw, Place{review, awaiting, false}, Operator},
		{Place{review, awaiting, true}, Discard, Place{review, discarded, false}, Operator},
		{Place{review, awaiting, true}, Delivered, Place{review, replayed, false}, NoRole},
		{Place{review, awaiting, true}, Failed, Place{review, awaiting, false}, NoRole},
		// SECURITY_BLOCK waits for the security role first.
		{Place{block, blocked, false}, Authorize, Place{block, authorized, false}, Security},
		{Place{block, blocked, false}, Discard, Place{block, discarded, false}, Security},
		{Place{block, authorized, false}, Withdraw, Place{block, blocked, false}, Security},
		{Place{block, authorized, false}, Discard, Place{block, discarded, false}, Security},
		{Place{block, authorized, false}, Replay, Place{block, authorized, true}, Operator},
		{Place{block, authorized, true}, Withdraw, Place{block, blocked, false}, Security},
		{Place{block, authorized, true}, Discard, Place{block, discarded, false}, Security},
		{Place{block, authorized, true}, Delivered, Place{block, replayed, false}, NoRole},
		{Place{block, authorized, true}, Failed, Place{block, authorized, false}, NoRole},
	}
	for _, p := range places(append(rows, OrphanTransitions()...)) {
		rows = append(rows, Transition{p, Note, p, Operator})
	}
	return rows
}

// OrphanTransitions is what can happen besides to an orphan: a dead letter whose
// outbox nobody relays; see Relayed. Nothing ever replays it, so also one that is
// meant to be replayed by itself may be given up. A Replay that stands in
// Transitions is refused to an orphan.
func OrphanTransitions() []Transition {
	scheduled, given := contracts.DeadScheduled, Place{contracts.SafeAuto, contracts.DeadDiscarded, false}
	return []Transition{
		{Place{contracts.SafeAuto, scheduled, false}, Discard, given, Operator},
		{Place{contracts.SafeAuto, scheduled, true}, Discard, given, Operator},
	}
}

// LateTransitions is what the end of a replay does to a dead letter whose replay
// was withdrawn, or which was given up, while it was under way: what was
// delivered was delivered, whatever was decided meanwhile, and what failed
// brings nothing back. One of SAFE_AUTO is given up only where nobody was seen to relay
// its outbox; an instance that began to may deliver it all the same.
func LateTransitions() []Transition {
	const safe, review, block = contracts.SafeAuto, contracts.ReviewRequired, contracts.SecurityBlock
	var rows []Transition
	for _, p := range []Place{
		{safe, contracts.DeadDiscarded, false},
		{review, contracts.DeadAwaitingReview, false},
		{review, contracts.DeadDiscarded, false},
		{block, contracts.DeadBlocked, false},
		{block, contracts.DeadAuthorized, false},
		{block, contracts.DeadDiscarded, false},
	} {
		rows = append(rows, Transition{p, Delivered, Place{p.Tier, contracts.DeadReplayed, false}, NoRole}, Transition{p, Failed, p, NoRole})
	}
	return rows
}

// table is Transitions by what looks it up, orphans is OrphanTransitions, late is
// LateTransitions.
var table, orphans, late = tableOf(Transitions()), tableOf(OrphanTransitions()), tableOf(LateTransitions())

func tableOf(rows []Transition) map[Place]map[Action]Transition {
	t := make(map[Place]map[Action]Transition)
	for _, row := range rows {
		if t[row.From] == nil {
			t[row.From] = make(map[Action]Transition)
		}
		t[row.From][row.Action] = row
	}
	return t
}

// places lists every place of rows once.
func places(rows []Transition) []Place {
	var out []Place
	seen := make(map[Place]bool)
	for _, row := range rows {
		for _, p := range []Place{row.From, row.To} {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// Next looks up what a does to a dead letter at p; ok is false when it does
// nothing there.
func Next(p Place, a Action) (row Transition, ok bool) {
	row, ok = table[p][a]
	return row, ok
}

// NextOrphan is Next for a dead letter whose outbox nobody relays.
func NextOrphan(p Place, a Action) (row Transition, ok bool) {
	if row, ok = orphans[p][a]; ok {
		return row, true
	}
	return Next(p, a)
}

// NextLate is Next for the end of a replay that began when the dead letter stood
// at began, where that is not the place any more at which it ends.
func NextLate(began, p Place, a Action) (row Transition, ok bool) {
	if row, ok = Next(p, a); ok {
		return row, true
	}
	if _, ended := Next(began, a); !ended {
		return Transition{}, false
	}
	row, ok = late[p][a]
	return row, ok
}

// Open reports whether a dead letter in that state still waits for somebody.
func Open(s contracts.DeadState) bool {
	return s != contracts.DeadReplayed && s != contracts.DeadDiscarded
}

// OpenState is a state in which dead letters wait for somebody, and its tier.
type OpenState struct {
	Tier  contracts.Tier
	State contracts.DeadState
}

// OpenStates lists the states in which dead letters wait, the mildest tier first.
func OpenStates() []OpenState {
	return []OpenState{
		{contracts.SafeAuto, contracts.DeadScheduled},
		{contracts.ReviewRequired, contracts.DeadAwaitingReview},
		{contracts.SecurityBlock, contracts.DeadBlocked},
		{contracts.SecurityBlock, contracts.DeadAuthorized},
	}
}
