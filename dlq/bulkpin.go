package dlq

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
)

// pin is one item of a bulk replay, as it was when the selection was made.
type pin struct {
	id      string
	deadAt  time.Time
	replays int
	line    string // hash of its outbox and aggregate; empty: it stands alone
}

func pinOf(i *Item) pin {
	p := pin{id: i.ID, deadAt: i.DeadAt, replays: i.Replays}
	if i.AggregateID != "" {
		sum := sha256.Sum256([]byte(i.Outbox + "\x00" + i.AggregateID))
		p.line = hex.EncodeToString(sum[:8])
	}
	return p
}

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

// judge tells from the item alone, nil when it is gone, how far the bulk replay
// has got with it. So a runner that restarts knows what the one before did.
func (p pin) judge(i *Item, bulk string) pinState {
	switch {
	case i == nil || !i.DeadAt.Equal(p.deadAt):
		return pinSkipped
	case i.Replaying != nil && i.Replaying.Bulk == bulk:
		return pinReplaying
	case i.LastReplay != nil && i.LastReplay.Bulk == bulk && i.LastReplay.Delivered:
		return pinDelivered
	case i.LastReplay != nil && i.LastReplay.Bulk == bulk, i.Replays > p.replays && i.askedBy(bulk):
		// The second: another replay followed, which nothing can after a delivery.
		return pinFailed
	case !Open(i.State) || i.Replays != p.replays || i.Replaying != nil || i.Tier == contracts.SecurityBlock, i.askedBy(bulk):
		// The last: what it asked for was withdrawn.
		return pinSkipped
	}
	return pinWaiting
}

// bulkMark begins the reason of each request of a bulk replay.
func bulkMark(bulk string) string { return "bulk replay " + bulk }

// askedBy reports whether the bulk replay asked for a replay of the item, ever.
func (i *Item) askedBy(bulk string) bool {
	return slices.ContainsFunc(i.Decisions, func(d Decision) bool {
		return d.Action == Replay && strings.HasPrefix(d.Reason, bulkMark(bulk))
	})
}

// canarySize is how many items a bulk replay begins with.
const canarySize = 5

// canaries returns the indexes of the pins that go first: of as many different
// aggregates as there are, and none before those of its own aggregate that
// stand before it.
func canaries(pins []pin) map[int]bool {
	out := make(map[int]bool)
	for depth := 0; len(out) < min(canarySize, len(pins)); depth++ {
		seen := make(map[string]int)
		for n, p := range pins {
			at := 0 // its place in its line
			if p.line != "" {
				at = seen[p.line]
				seen[p.line]++
			}
			if at == depth && len(out) < canarySize {
				out[n] = true
			}
		}
	}
	return out
}
