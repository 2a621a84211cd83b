package dlq

import (
	"context"
	"slices"

	"outboxrelay/contracts"
)

// Outboxes names the outboxes that anybody relays or ever did: those of the catalog, in its
// order, and behind them those that only instances with another catalog know. These are told
// by their leases: who holds a record has one. Where no relay has leases, it is the catalog alone.
func (q *Queue) Outboxes(ctx context.Context) ([]string, error) {
	words, err := q.words(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(q.catalog.Outboxes))
	known := make(map[string]bool) // shares of this catalog
	for _, o := range q.catalog.Outboxes {
		names = append(names, o.Name)
		for _, s := range o.Shares() {
			known[s.String()] = true
		}
	}
	var others []string
	for _, w := range words {
		for _, share := range w.shares {
			if known[share] {
				continue
			}
			for _, name := range contracts.OutboxesOf(share) {
				if q.catalog.Outbox(name) == nil {
					others = append(others, name)
				}
			}
		}
	}
	slices.Sort(others)
	return append(names, slices.Compact(others)...), nil
}
