package bulk

import (
	"cmp"
	"slices"
	"strings"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// A replay that was asked for may wait: for a target that is out, or for an older dead
// letter of its aggregate. What waits like that takes nobody's place: others are asked for
// instead, also for the canary, and the bulk replay tells what it waits for.

// held is what is known of a pin besides its state.
type held struct {
	waits   dlq.Waits // of a replay under way
	missing []way     // as the item was read last
}

// way is one to a target: what waits in one outbox and lane tells nothing of another, as it
// may be the lane that is paused by now, or the outbox that nobody relays.
type way struct {
	outbox string
	lane   contracts.Lane
	target string
}

func waysOf(i *dlq.Item, targets []string) []way {
	out := make([]way, len(targets))
	for n, t := range targets {
		out[n] = way{i.Outbox, i.Lane, t}
	}
	return out
}

// learn takes down what an item tells of that.
func (r *run) learn(n int, i *dlq.Item) {
	h := held{}
	if i != nil {
		h.missing = waysOf(i, dlq.Missing(r.queue.Catalog(), i))
		if i.Replaying != nil && i.Replaying.Bulk == r.bulk.ID {
			h.waits = i.Replaying.Waits
		}
	}
	r.held[n] = h
}

// out lists the ways of which replays under way wait for the target.
func (r *run) out() (out []way) {
	for n, s := range r.states {
		if s != pinReplaying {
			continue
		}
		for _, w := range r.held[n].missing {
			if slices.Contains(r.held[n].waits.Targets, w.target) && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	slices.SortFunc(out, func(a, b way) int { return cmp.Compare(a.target, b.target) })
	return out
}

// holdup says in words what keeps a pin that is not finished from going on while these are
// out; "": nothing that is known.
func (r *run) holdup(n int, out []way) string {
	h := r.held[n]
	if r.states[n] == pinReplaying && h.waits.Behind != "" {
		return "an older dead letter of their aggregate comes first: " + h.waits.Behind
	}
	var missing []string
	for _, w := range out {
		if slices.Contains(h.missing, w) {
			missing = append(missing, w.target)
		}
	}
	switch len(missing) {
	case 0:
		return ""
	case 1:
		return missing[0] + " is out"
	}
	return strings.Join(missing, ", ") + " are out"
}

// heldFor counts the pins that something keeps from going on by what that is. What is not
// asked for any more waits for nothing.
func (r *run) heldFor() map[string]int {
	out := r.out()
	var reasons map[string]int
	for n, s := range r.states {
		if s.finished() || s == pinWaiting && r.bulk.State != dlq.BulkRunning {
			continue
		}
		if why := r.holdup(n, out); why != "" {
			reasons = countReason(reasons, why)
		}
	}
	return reasons
}

// going counts the replays under way that nothing is known to hold up, and those that
// something does.
func (r *run) going() (going, stuck int) {
	out := r.out()
	for n, s := range r.states {
		switch {
		case s != pinReplaying:
		case r.holdup(n, out) == "":
			going++
		default:
			stuck++
		}
	}
	return going, stuck
}

// relieve has others go first in the place of those of the canary that something holds up, or
// that were passed over, which tells nothing of the others: those that the runner before
// asked for in their place come before any that was not asked for yet.
func (r *run) relieve() {
	out := r.out()
	wanted := min(canarySize, len(r.pins))
	for n := range r.first {
		switch s := r.states[n]; {
		case s == pinSkipped:
		case s.finished(), r.holdup(n, out) == "":
			wanted--
		}
	}
	for n, s := range r.states {
		if wanted > 0 && !r.first[n] && (s == pinReplaying && r.holdup(n, out) == "" || s == pinDelivered || s == pinFailed) {
			r.first[n] = true
			wanted--
		}
	}
	if wanted <= 0 {
		return
	}
	for _, n := range r.askable(out, func(n int) bool { return !r.first[n] }, wanted) {
		r.first[n] = true
	}
}

// askable returns at most limit pins that can be asked for while these are out: in
// order, of each aggregate only the first that is not finished, and of those whom suits.
// A consumer's stand in the way of that consumer's alone.
func (r *run) askable(out []way, suits func(n int) bool, limit int) (all []int) {
	type place struct{ line, consumer string }
	busy := make(map[place]bool)
	for n, s := range r.states {
		if len(all) >= limit {
			break
		}
		p := r.pins[n]
		own := place{p.Line, p.Consumer}
		if s.finished() || p.Line != "" && (busy[own] || busy[place{line: p.Line}]) {
			continue
		}
		busy[own] = p.Line != ""
		if s == pinWaiting && suits(n) && r.holdup(n, out) == "" {
			all = append(all, n)
		}
	}
	return all
}

// standstill reports whether nothing is under way but what is held up, and nothing can be
// asked for.
func (r *run) standstill() bool {
	going, _ := r.going()
	return going == 0 && !r.hungry()
}
