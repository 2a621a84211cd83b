package contracts

// Limits of Pub/Sub on one message.
const (
	// MaxMessageBytes bounds a message: data, attributes and ordering key.
	MaxMessageBytes = 10_000_000
	// MaxAttributeBytes bounds the value of an attribute, and the ordering key, which is
	// the aggregateId.
	MaxAttributeBytes = 1024
)

// MaxPayloadDepth bounds the maps and arrays nested inside a payload. Firestore
// stores 20 levels at most, so no stored record is refused for it; it guards
// against payloads given as JSON.
const MaxPayloadDepth = 20

// maxFieldFaults bounds the faults named for what is inside of one field, a
// payload or a list, so that they fit a dead letter. One more says how many
// there were beyond it.
const maxFieldFaults = 100

// quoteLimit bounds the bytes of a record's value that a fault repeats.
const quoteLimit = 100
