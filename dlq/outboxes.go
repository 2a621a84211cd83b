package dlq

import (
	"context"
	"fmt"
	"slices"

	"outboxrelay/contracts"
)

// leases finds the lease of every share that an instance ever owned. They stay when that is
// gone.
var leases = Query{
	Collection: contracts.CollectionLeases, Where: []Where{{contracts.LeaseFieldKind, "==", contracts.LeaseKind}},
	Select: []string{contracts.LeaseFieldKind},
}

// Outboxes names the outboxes that anybody relays: those of the catalog, in its order, and
// behind them those that only instances with another catalog know. These are told by their
// leases: who holds a record has one. Where no relay has leases, it is the catalog alone.
func (q *Queue) Outboxes(ctx context.Context) ([]string, error) {
	docs, err := q.store.Query(ctx, leases)
	if err != nil {
		return nil, fmt.Errorf("read leases, which tell the outboxes of other catalogs: %w", err)
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
	for _, d := range docs {
		if known[d.ID] {
			continue
		}
		for _, name := range contracts.OutboxesOf(d.ID) {
			if q.catalog.Outbox(name) == nil {
				others = append(others, name)
			}
		}
	}
	slices.Sort(others)
	return append(names, slices.Compact(others)...), nil
}
