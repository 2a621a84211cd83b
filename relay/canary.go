package relay

import (
	"context"
	"strings"
	"time"

	"outboxrelay/contracts"
)

// A canary is a document in the outbox itself that matches one listener's
// query and stands at the head of its window. The relay touches it and waits
// to see the touch through the listener: an idle listener and a dead one look
// the same from outside, and only this tells them apart.

// canaryPrefix starts the IDs of canaries. "!" sorts before letters and digits.
const canaryPrefix = "!relay-canary."

// isCanary reports whether a document ID of an outbox is a canary's.
func isCanary(id string) bool { return strings.HasPrefix(id, canaryPrefix) }

// FieldCanary holds a canary's nonce, changed by each touch. No record has it.
const FieldCanary = "canary"

// canary is the one of a listener.
type canary struct {
	outbox string
	id     string
	fields map[string]any
}

// canaryFor returns the canary that the scan's window always begins with.
func canaryFor(s Scan) canary {
	c := canary{outbox: s.Outbox, id: canaryPrefix + "strays", fields: map[string]any{
		contracts.FieldStatus:    string(contracts.Pending),
		contracts.FieldLane:      "", // no lane: the strays' query, which orders by lane
		contracts.FieldCreatedAt: s.After.At,
	}}
	if s.Kind == ScanLane {
		c.id = canaryPrefix + string(s.Lane)
		c.fields[contracts.FieldLane] = string(s.Lane)
	}
	if s.After.Zero() {
		c.fields[contracts.FieldCreatedAt] = time.Unix(0, 0).UTC()
	}
	return c
}

// touch writes the canary with a new nonce.
func (c canary) touch(ctx context.Context, st Store, nonce string) error {
	c.fields[FieldCanary] = nonce
	_, err := st.Commit(ctx, []Write{{Collection: c.outbox, ID: c.id, Op: OpSet, Fields: c.fields}})
	return err
}

// removal is the write that takes the canary out of its outbox.
func (c canary) removal() Write { return Write{Collection: c.outbox, ID: c.id, Op: OpDelete} }
