package relay

import (
	"context"
	"strconv"
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

// Canary reports whether a document of an outbox is a canary, which is no record. The
// ID alone does not tell: a record that a producer gave such a one is still a record.
func (d Doc) Canary() bool { return strings.HasPrefix(d.ID, canaryPrefix) && d.Nonce != "" }

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
	c := canary{outbox: s.Outbox, id: canaryPrefix + listenerName(s), fields: map[string]any{
		contracts.FieldStatus:    string(contracts.Pending),
		contracts.FieldLane:      "", // no lane: the strays' query, which orders by lane
		contracts.FieldCreatedAt: s.After.At,
	}}
	if s.Kind == ScanLane {
		c.fields[contracts.FieldLane] = string(s.Lane)
	}
	if s.After.Zero() {
		c.fields[contracts.FieldCreatedAt] = time.Unix(0, 0).UTC()
	}
	switch {
	case s.Kind == ScanShardBelow:
		c.fields = firstOfAll(nil)
	case s.Kind == ScanShardAbove:
		c.fields = firstOfAll(int64(s.Shards))
	case s.Shards > 1:
		c.id += "." + strconv.Itoa(s.Shard)
		c.fields[contracts.FieldShard] = int64(s.Shard)
	}
	return c
}

// firstOfAll are the fields of the first document of a shard, in the order
// (shard, lane, createdAt).
func firstOfAll(shard any) map[string]any {
	return map[string]any{
		contracts.FieldStatus: string(contracts.Pending), contracts.FieldShard: shard, contracts.FieldLane: nil, contracts.FieldCreatedAt: nil,
	}
}

// touch writes the canary with a new nonce.
func (c canary) touch(ctx context.Context, st Store, nonce string) error {
	c.fields[FieldCanary] = nonce
	_, err := st.Commit(ctx, []Write{{Collection: c.outbox, ID: c.id, Op: OpSet, Fields: c.fields}})
	return err
}

// removal is the write that takes the canary out of its outbox.
func (c canary) removal() Write { return Write{Collection: c.outbox, ID: c.id, Op: OpDelete} }
