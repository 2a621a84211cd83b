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
	contracts.FieldAggregateVersion, contracts.FieldShard, contracts.FieldIdempotencyKey, contracts.FieldTraceID, contracts.FieldTraceparent, contracts.FieldProducer,
	contracts.FieldLane, contracts.FieldTier, contracts.FieldOccurredAt, contracts.FieldCreatedAt, contracts.FieldStatus, contracts.FieldAttempts,
	contracts.FieldLastError, contracts.FieldNextAttemptAt, contracts.FieldDeliveredTargets, contracts.FieldDeliveredAt, contracts.FieldExpireAt,
	contracts.FieldAttemptErrors,
}

// covered is why part of a record is not shown.
const covered = "the payload of a SECURITY_BLOCK dead letter is covered: the role security uncovers it, with a reason, " +
	"by POST /dlq/{id}/uncover or outbox-relay dlq show ID --uncover, and that is an audit entry"

// coveredRecord renders an item's record as everybody sees it, and says what is
// withheld; "" when nothing is.
func coveredRecord(i *dlq.Item) (record map[string]any, withheld string) {
	record = make(map[string]any, len(i.Record))
	for name, v := range i.Record {
		if i.Covered() && !slices.Contains(openFields, name) {
			withheld = covered
			continue
		}
		record[name] = plainJSON(v)
	}
	return record, withheld
}

// wholeRecord renders all of an item's record.
func wholeRecord(i *dlq.Item) map[string]any {
	record := make(map[string]any, len(i.Record))
	for name, v := range i.Record {
		record[name] = plainJSON(v)
	}
	return record
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
