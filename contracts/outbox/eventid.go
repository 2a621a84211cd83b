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
	name := strings.Join([]string{outbox, eventType, strconv.FormatInt(eventVersion, 10), aggregateID, strconv.FormatInt(aggregateVersion, 10)}, "\x00")
	return uuid.NewSHA1(eventNamespace, []byte(name)).String()
}
