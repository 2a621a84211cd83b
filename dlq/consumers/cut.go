package consumers

import (
	"strings"

	"outboxrelay/dlq"
)

// How far a dead letter is cut down for Firestore to take it: not only what is large is
// refused, but also what is nested one level deeper here than in its outbox, and a name
// that Firestore keeps for itself, in an event that came from elsewhere.
const (
	cutNothing  = iota
	cutPayload  // the payload stands in the body alone, which is a text
	cutEnvelope // without either
	cutBare     // of the record, only what every record has, and every text cut
)

// cut is the item cut down that far. envelope is the body of its message.
func cut(whole *dlq.Item, by int, envelope []byte) *dlq.Item {
	item := *whole
	switch by {
	case cutNothing:
		return whole
	case cutPayload:
		item.Record = dlq.WithoutPayload(whole.Record)
		item.Record[dlq.RecordFieldEnvelope] = strings.ToValidUTF8(string(envelope), "?")
	case cutEnvelope:
		item.Record = dlq.WithoutPayload(whole.Record)
		delete(item.Record, dlq.RecordFieldEnvelope)
	default:
		item = whole.Bare()
	}
	item.RecordTrimmed = true
	return &item
}
