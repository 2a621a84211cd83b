package bulk

import (
	"slices"
	"strings"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// pinState is how far a bulk replay has got with an item.
type pinState string

const (
	pinWaiting   pinState = "waiting"   // not asked for yet
	pinReplaying pinState = "replaying" // asked for, not ended
	pinDelivered pinState = "delivered"
	pinFailed    pinState = "failed"
	pinSkipped   pinState = "skipped" // passed over
)

// finished reports whether the bulk replay is through with the item.
func (s pinState) finished() bool {
	return s == pinDelivered || s == pinFailed || s == pinSkipped
}

// judgement is how far a bulk replay has got with an item.
type judgement struct {
	state  pinState
	why    string // it is passed over
	orphan bool   // ... because nobody relays its outbox
}

// passOver is the judgement about an item that the bulk replay leaves alone.
func passOver(why string) judgement { return judgement{state: pinSkipped, why: why} }

// judge tells from the item alone, nil when it is gone, how far the bulk replay
// has got with it. So a runner that restarts knows what the one before did.
func judge(p dlq.Pin, i *dlq.Item, bulk string) judgement {
	switch {
	case i == nil:
		return passOver(passedGone)
	case !i.DeadAt.Equal(p.DeadAt):
		return passOver(passedDied)
	case i.Replaying != nil && i.Replaying.Bulk == bulk:
		return judgement{state: pinReplaying}
	case i.LastReplay != nil && i.LastReplay.Bulk == bulk && i.LastReplay.Delivered:
		return judgement{state: pinDelivered}
	case i.LastReplay != nil && i.LastReplay.Bulk == bulk:
		return judgement{state: pinFailed}
	case withdrawn(i, bulk):
		return passOver(passedWithdrawn)
	case i.Replays > p.Replays && askedBy(i, bulk):
		// Another replay followed, which nothing can after a delivery.
		return judgement{state: pinFailed}
	case !dlq.Open(i.State):
		return passOver(passedClosed)
	case i.Replays != p.Replays || i.Replaying != nil:
		return passOver(passedReplayed)
	case i.Tier == contracts.SecurityBlock:
		return passOver(passedBlocked)
	case askedBy(i, bulk): // and taken back, which is not among the latest decisions any more
		return passOver(passedWithdrawn)
	}
	return judgement{state: pinWaiting}
}

// mark begins the reason of each request of a bulk replay.
func mark(bulk string) string { return "bulk replay " + bulk }

// askedBy reports whether the bulk replay asked for a replay of the item, ever.
func askedBy(i *dlq.Item, bulk string) bool { return slices.ContainsFunc(i.Decisions, asks(bulk)) }

// asks tells the decision by which a bulk replay asked for a replay.
func asks(bulk string) func(dlq.Decision) bool {
	return func(d dlq.Decision) bool { return d.Action == dlq.Replay && strings.HasPrefix(d.Reason, mark(bulk)) }
}

// withdrawn reports whether what the bulk replay asked for was taken back, before
// anybody asked again.
func withdrawn(i *dlq.Item, bulk string) bool {
	asked := slices.IndexFunc(i.Decisions, asks(bulk))
	if asked < 0 {
		return false
	}
	for _, d := range i.Decisions[asked+1:] {
		if d.Action == dlq.Withdraw || d.Action == dlq.Replay {
			return d.Action == dlq.Withdraw
		}
	}
	return false
}

// canarySize is how many items a bulk replay begins with.
const canarySize = 5

// canaries returns the indexes of the pins that go first: of as many different
// aggregates as there are, and none before those of its own aggregate that
// stand before it.
func canaries(pins []dlq.Pin) map[int]bool {
	out := make(map[int]bool)
	for depth := 0; len(out) < min(canarySize, len(pins)); depth++ {
		seen := make(map[string]int)
		for n, p := range pins {
			at := 0 // its place in its line
			if p.Line != "" {
				at = seen[p.Line]
				seen[p.Line]++
			}
			if at == depth && len(out) < canarySize {
				out[n] = true
			}
		}
	}
	return out
}
