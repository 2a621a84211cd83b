package dlqtest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Letter is the dead letter of a new record of the outbox, whose last attempt
// failed when it died. Its event has its lane, tier and targets in the catalog.
func Letter(c *contracts.Catalog, outbox, eventType, aggregate string, version int64, died time.Time) *dlq.Item {
	route := c.Outbox(outbox).Route(eventType)
	event := uuid.NewString()
	key := fmt.Sprintf("%s:%s:%d", event, aggregate, version)
	i := &dlq.Item{
		ID: dlq.ID(key), Tier: route.Tier, OriginalTier: route.Tier, State: route.Tier.FirstState(), Reason: contracts.AttemptsExhausted,
		Outbox: outbox, RecordPath: outbox + "/" + dlq.ID(key), EventID: event, EventType: eventType, TraceID: "trace-" + event, IdempotencyKey: key,
		AggregateID: aggregate, AggregateVersion: version, Lane: route.Lane, PendingTargets: route.Targets, Attempts: 3, DeadAt: died,
		Errors: []contracts.AttemptError{{At: died, Attempt: 3, Target: route.Targets[0], Code: "Internal", Message: "no"}},
	}
	i.Record = Record(i)
	return i
}

// Record is the document of an item's record as the relay leaves it. Its payload is
// empty.
func Record(i *dlq.Item) map[string]any {
	return map[string]any{
		"eventId": i.EventID, "eventType": i.EventType, "aggregateId": i.AggregateID, "aggregateVersion": i.AggregateVersion,
		"idempotencyKey": i.IdempotencyKey, "traceId": i.TraceID, "lane": string(i.Lane), "dlqTier": string(i.OriginalTier),
		"createdAt": i.DeadAt.Add(-time.Minute), "payload": map[string]any{}, "status": string(contracts.Dead),
	}
}
