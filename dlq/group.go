package dlq

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"outboxrelay/contracts"
)

// Group is a kind of dead letter: an event type and an error, told without
// what differs from case to case.
type Group struct {
	ID        string // of its document, and of the items' group field
	EventType string
	Code      string // of the last failed attempt, or the reason where there is none
	Error     string // its message, normalised
}

var (
	uuids   = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	quoted  = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	hexes   = regexp.MustCompile(`\b(0x)?[0-9a-fA-F]{8,}\b`)
	numbers = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)
)

// normalise takes out of a message what differs from case to case, so that the
// same fault of many records reads the same.
func normalise(message string) string {
	message = uuids.ReplaceAllString(message, "<id>")
	message = quoted.ReplaceAllString(message, "<text>")
	message = hexes.ReplaceAllString(message, "<hex>")
	message = numbers.ReplaceAllString(message, "<n>")
	return message
}

// GroupOf returns the group of a dead letter, by its last error.
func GroupOf(i *Item) Group {
	g := Group{EventType: i.EventType, Code: string(i.Reason)}
	if e, ok := contracts.LastFailureBy(i.Errors, normalise); ok {
		g.Code, g.Error = e.Code, e.Message
	}
	sum := sha256.Sum256([]byte(g.EventType + "\x00" + g.Code + "\x00" + g.Error))
	g.ID = hex.EncodeToString(sum[:16])
	return g
}

// Write is the write that makes the group known. Writing it again changes
// nothing.
func (g Group) Write() Write {
	return Write{Collection: contracts.CollectionGroups, ID: g.ID, Op: OpMerge, Fields: map[string]any{
		contracts.FieldEventType: g.EventType, contracts.AttemptFieldCode: g.Code, contracts.AttemptFieldMessage: g.Error,
	}}
}

// DecodeGroup reads a group's document.
func DecodeGroup(d Doc) Group {
	f := reading(d.Fields)
	return Group{ID: d.ID, EventType: f.text(contracts.FieldEventType), Code: f.text(contracts.AttemptFieldCode), Error: f.text(contracts.AttemptFieldMessage)}
}
