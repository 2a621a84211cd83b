package admin

import (
	"fmt"
	"math"
	"slices"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// openFields are those of a record that everybody may see who may look at all:
// what the relay goes by. Anything else may hold what the payload holds.
var openFields = []string{
	contracts.FieldEventID, contracts.FieldEventType, contracts.FieldEventVersion, contracts.FieldAggregateType, contracts.FieldAggregateID,
	contracts.FieldAggregateVersion, contracts.FieldIdempotencyKey, contracts.FieldTraceID, contracts.FieldTraceparent, contracts.FieldProducer,
	contracts.FieldLane, contracts.FieldTier, contracts.FieldOccurredAt, contracts.FieldCreatedAt, contracts.FieldStatus, contracts.FieldAttempts,
	contracts.FieldLastError, contracts.FieldNextAttemptAt, contracts.FieldDeliveredTargets, contracts.FieldDeliveredAt, contracts.FieldExpireAt,
	contracts.FieldAttemptErrors,
}

// recordFor renders an item's record for who asks, and says what is withheld; ""
// when nothing is.
func recordFor(i *dlq.Item, who dlq.Role) (record map[string]any, withheld string) {
	blocked := i.Tier == contracts.SecurityBlock || i.OriginalTier == contracts.SecurityBlock
	record = make(map[string]any, len(i.Record))
	for name, v := range i.Record {
		if blocked && who < dlq.Security && !slices.Contains(openFields, name) {
			withheld = fmt.Sprintf("the payload of a %s dead letter is shown to the role %s alone", contracts.SecurityBlock, dlq.Security)
			continue
		}
		record[name] = plainJSON(v)
	}
	return record, withheld
}

// plainJSON turns what Firestore can hold and JSON cannot into text.
func plainJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = plainJSON(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, e := range v {
			out[n] = plainJSON(e)
		}
		return out
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return v
}
