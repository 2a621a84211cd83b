package dlq

import (
	"context"
	"fmt"
	"strings"
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
	shares, err := q.others.get(q.now(), func() (map[string]bool, error) {
		docs, err := q.store.Query(ctx, Query{Collection: contracts.CollectionLeases})
		if err != nil {
			return nil, fmt.Errorf("look who relays outbox %s: %w", outbox, err)
		}
		return relayedShares(docs), nil
	})
	for share := range shares {
		if rest, ok := strings.CutPrefix(share, outbox); ok && (rest == "" || shard(rest)) {
			return true, err
		}
	}
	return false, err
}

// shard reports whether that is what the name of a share has behind its outbox.
func shard(s string) bool {
	digits, ok := strings.CutPrefix(s, ".")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// relayedFor is for how long an outbox counts as relayed after the last word of who
// did: an instance that crashed or is being replaced comes back, and until then
// nobody is to be told to give its dead letters up.
const relayedFor = 10 * time.Minute

// relayedShares reads leases and registrations: the shares that somebody can own or
// does, or did a short while ago. Leases of outboxes that every catalog has lost
// stay for ever, so their age counts, by the server's clock.
func relayedShares(docs []Doc) map[string]bool {
	shares := make(map[string]bool)
	for _, d := range docs {
		f := reading(d.Fields)
		term := time.Duration(f.integer(contracts.LeaseFieldTerm)) * time.Millisecond
		if d.ReadTime.Sub(d.UpdateTime) >= max(relayedFor, term) {
			continue
		}
		if !strings.HasPrefix(d.ID, contracts.InstancePrefix) {
			shares[d.ID] = true
			continue
		}
		for _, share := range f.texts(contracts.LeaseFieldShares) {
			shares[share] = true
		}
	}
	return shares
}

// othersFor is how long a look at the leases is good for: a bulk replay may ask about
// thousands of dead letters of one outbox.
const othersFor = 5 * time.Second

// others remembers the last look at the leases.
type others struct {
	mu     sync.Mutex
	at     time.Time // zero: there was none
	shares map[string]bool
}

// get returns that look, or reads anew: several who ask at once may each read.
func (o *others) get(now time.Time, read func() (map[string]bool, error)) (map[string]bool, error) {
	if shares, ok := o.last(now); ok {
		return shares, nil
	}
	shares, err := read()
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at, o.shares = now, shares
	return shares, nil
}

func (o *others) last(now time.Time) (shares map[string]bool, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	age := now.Sub(o.at)
	return o.shares, o.shares != nil && age >= 0 && age < othersFor
}
