package dlqtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Lanes is where replays go. Without a plan every round reaches every target.
type Lanes struct {
	mu       sync.Mutex
	Outboxes []string // of this instance
	plan     func(ctx context.Context, i *dlq.Item, round int) (dlq.Round, error)
	rounds   map[string]int // by item
	order    []string       // items, as their rounds began
	Targets  [][]string     // pending targets, the same
	running  int
	most     int
}

// Owned implements replayer.Lanes.
func (l *Lanes) Owned() []string { return l.Outboxes }

// Owns implements replayer.Lanes.
func (l *Lanes) Owns(i *dlq.Item) bool { return slices.Contains(l.Outboxes, i.Outbox) }

// Pin implements replayer.Lanes.
func (l *Lanes) Pin(i *dlq.Item) (release func(), ok bool) { return func() {}, l.Owns(i) }

// Replay implements replayer.Lanes: it does what the plan says.
func (l *Lanes) Replay(ctx context.Context, i *dlq.Item) (dlq.Round, error) {
	l.mu.Lock()
	l.rounds[i.ID]++
	l.order = append(l.order, i.ID)
	l.Targets = append(l.Targets, i.PendingTargets)
	l.running++
	l.most = max(l.most, l.running)
	round, plan := l.rounds[i.ID], l.plan
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
	}()
	if plan == nil {
		return dlq.Round{Acked: i.PendingTargets}, nil
	}
	return plan(ctx, i, round)
}

// AtOnce is how many rounds were under way at once, at most.
func (l *Lanes) AtOnce() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most
}

// Follow sets the plan.
func (l *Lanes) Follow(plan func(ctx context.Context, i *dlq.Item, round int) (dlq.Round, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plan = plan
}

// Count is how many rounds of the item there were.
func (l *Lanes) Count(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rounds[id]
}

// Total is how many rounds there were.
func (l *Lanes) Total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.order)
}

// Sequence is the items in the order in which their rounds began.
func (l *Lanes) Sequence() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.order)
}

// Fails is a round in which every target refused the record.
func Fails(i *dlq.Item) dlq.Round {
	var r dlq.Round
	for _, target := range i.PendingTargets {
		r.Failed = append(r.Failed, contracts.AttemptError{At: time.Now(), Attempt: 4, Target: target, Code: "Internal", Message: "still no"})
	}
	return r
}
