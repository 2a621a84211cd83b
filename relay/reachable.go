package relay

import (
	"slices"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Reachable implements replayer.Reachability: false while all targets that the item
// is pending for are out. What cannot be told without its record is left to the
// round.
func (r *Relay) Reachable(item *dlq.Item) bool {
	outbox := r.catalog.Outbox(item.Outbox)
	if outbox == nil {
		return true
	}
	route := outbox.Route(item.EventType)
	if route == nil {
		return true
	}
	var targets []string
	for _, t := range route.Targets {
		if len(item.PendingTargets) == 0 || slices.Contains(item.PendingTargets, t) {
			targets = append(targets, t)
		}
	}
	return len(targets) == 0 || !r.closed(targets, &contracts.Record{Outbox: item.Outbox, AggregateID: item.AggregateID})
}
