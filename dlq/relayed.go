package dlq

import (
	"context"
	"sync"
	"time"

	"outboxrelay/contracts"
)

// Relayed reports whether some instance relays the outbox: this one, whose catalog
// has it, which costs no read, or one with another catalog, as the leases tell.
func (q *Queue) Relayed(ctx context.Context, outbox string) (bool, error) {
	if q.catalog.Outbox(outbox) != nil {
		return true, nil
	}
	outboxes, err := q.others.get(q.now(), func() (map[string]bool, error) {
		words, err := q.words(ctx)
		return relayedOutboxes(words), err
	})
	return outboxes[outbox], err
}

// relayedFor is for how long an outbox counts as relayed after the last word of who
// did: an instance that crashed or is being replaced comes back, and until then
// nobody is to be told to give its dead letters up.
const relayedFor = 10 * time.Minute

// relayedOutboxes are those that somebody owns or can own, or did a short while ago. Leases of
// outboxes that every catalog has lost stay for ever, so their age counts.
func relayedOutboxes(words []word) map[string]bool {
	outboxes := make(map[string]bool)
	for _, w := range words {
		if w.old >= max(relayedFor, w.term) {
			continue
		}
		for _, share := range w.shares {
			for _, name := range contracts.OutboxesOf(share) {
				outboxes[name] = true
			}
		}
	}
	return outboxes
}

// othersFor is how long a look at the leases is good for: a bulk replay may ask about
// thousands of dead letters of one outbox.
const othersFor = 5 * time.Second

// others remembers the last look at the leases.
type others struct {
	mu       sync.Mutex
	at       time.Time // zero: there was none
	outboxes map[string]bool
}

// get returns that look, or reads anew: several who ask at once may each read.
func (o *others) get(now time.Time, read func() (map[string]bool, error)) (map[string]bool, error) {
	if outboxes, ok := o.last(now); ok {
		return outboxes, nil
	}
	outboxes, err := read()
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at, o.outboxes = now, outboxes
	return outboxes, nil
}

func (o *others) last(now time.Time) (outboxes map[string]bool, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	age := now.Sub(o.at)
	return o.outboxes, o.outboxes != nil && age >= 0 && age < othersFor
}
