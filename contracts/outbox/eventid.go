package outbox

import (
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// eventNamespace is the namespace of derived event IDs. Producers in other languages
// derive the same.
var eventNamespace = uuid.MustParse("be730d09-11c6-5716-84cd-2c4e70e503f8")

// EventID returns the ID of an event that brings none: the UUID, version 5, of
// outbox, event type, event version, aggregate and its version, joined by NUL, in the
// namespace be730d09-11c6-5716-84cd-2c4e70e503f8.
func EventID(outbox, eventType string, eventVersion int64, aggregateID string, aggregateVersion int64) string {
	return derived(outbox, eventType, strconv.FormatInt(eventVersion, 10), aggregateID, strconv.FormatInt(aggregateVersion, 10))
}

// EventIDOfKey is EventID where the catalog has a key made that does not name the event ID. Such a key
// says by itself which event it is: two that differ in it alone are two events.
func EventIDOfKey(outbox, eventType string, eventVersion int64, key string) string {
	return derived(outbox, eventType, strconv.FormatInt(eventVersion, 10), key)
}

func derived(parts ...string) string {
	return uuid.NewSHA1(eventNamespace, []byte(strings.Join(parts, "\x00"))).String()
}
