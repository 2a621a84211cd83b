package jobs

import (
	"maps"

	"outboxrelay/contracts/outbox"
)

// Complete returns a job's fields with those that only its document's ID tells of: a producer that
// writes jobs itself may give channel, recipient and template in the key alone. What a field says
// stands, be it none that the queue can use.
func Complete(fields map[string]any, id string) map[string]any {
	var out map[string]any
	for name, v := range outbox.JobFieldsOfKey(id) {
		if fields[name] != nil || v == "" {
			continue
		}
		if out == nil {
			out = maps.Clone(fields)
		}
		out[name] = v
	}
	if out == nil {
		return fields
	}
	return out
}
