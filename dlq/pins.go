package dlq

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"outboxrelay/contracts"
)

// Pin is one item of a bulk replay, as it was when the selection was made.
type Pin struct {
	ID      string // the dead letter's
	DeadAt  time.Time
	Replays int
	Line    string // hash of its outbox and aggregate; empty: it stands alone

	Consumer string // whose it is; empty: the relay's own
}

// PinOf is the item as it is.
func PinOf(i *Item) Pin {
	p := Pin{ID: i.ID, DeadAt: i.DeadAt, Replays: i.Replays, Consumer: i.Consumer}
	if i.AggregateID != "" {
		sum := sha256.Sum256([]byte(i.Outbox + "\x00" + i.AggregateID))
		p.Line = hex.EncodeToString(sum[:8])
	}
	return p
}

// Pins reads a page of the pinned items of a bulk replay, in its order: those
// behind after, or the first where that is empty. next is where the next page
// begins; "": there is none.
func (q *Queue) Pins(ctx context.Context, b *Bulk, after string) (pins []Pin, next string, err error) {
	query := Query{Collection: pinCollection(b.Pinned), OrderBy: []Order{{Field: FieldID}}, Limit: 10}
	docs, next, err := q.pageByID(ctx, query, after)
	if err != nil {
		return nil, "", fmt.Errorf("read pinned items: %w", err)
	}
	for _, d := range docs {
		pins = append(pins, decodePins(d)...)
	}
	return pins, next, nil
}

// pinnedFields are what tells how far a bulk replay has got with an item.
var pinnedFields = []string{
	contracts.DeadFieldTier, contracts.DeadFieldState, contracts.DeadFieldDeadAt, contracts.DeadFieldReplays, contracts.DeadFieldReplaying,
	contracts.DeadFieldLastReplay, contracts.DeadFieldDecisions, contracts.FieldTraceID,
	contracts.DeadFieldOutbox, contracts.FieldEventType, contracts.FieldLane, contracts.DeadFieldPendingTargets, // for what they wait
}

// Pinned reads the dead letters of these IDs, by ID, with no more than what tells
// how far a bulk replay has got with them. Those that are gone are missing.
func (q *Queue) Pinned(ctx context.Context, ids []string) (map[string]*Item, error) {
	return q.partly(ctx, pinnedFields, ids)
}

// Names of a pinned item's fields in Firestore.
const (
	pinItems   = "items"
	pinDeadAt  = "deadAt"
	pinReplays = "replays"
	pinLine    = "line"
	pinOf      = "consumer" // left out where it is the relay's own
)

// pinCollection is where pinned items stand. They are written before the bulk
// replay, so each start has a place of its own: of two that start the same one,
// the loser's are never looked at.
func pinCollection(pinned string) string {
	return contracts.CollectionReplays + "/" + pinned + "/" + pinItems
}

// Bounds of one document of pinned items.
const (
	chunkPins  = 500
	chunkBytes = 512 << 10 // of their IDs and consumers: a document takes 1 MiB
)

// chunks renders pins as the writes of their documents, in order.
func chunks(pinned string, pins []Pin) []Write {
	var out []Write
	var items []any
	size := 0
	flush := func() {
		if len(items) > 0 {
			out = append(out, Write{
				Collection: pinCollection(pinned), ID: fmt.Sprintf("%04d", len(out)), Op: OpSet, Fields: map[string]any{pinItems: items},
			})
		}
		items, size = nil, 0
	}
	for _, p := range pins {
		if len(items) == chunkPins || size+len(p.ID)+len(p.Consumer) > chunkBytes {
			flush()
		}
		item := map[string]any{fieldID: p.ID, pinDeadAt: p.DeadAt, pinReplays: p.Replays, pinLine: p.Line}
		if p.Consumer != "" {
			item[pinOf] = p.Consumer
		}
		items = append(items, item)
		size += len(p.ID) + len(p.Consumer)
	}
	flush()
	return out
}

// decodePins reads one document of pinned items.
func decodePins(d Doc) []Pin {
	var out []Pin
	for _, m := range reading(d.Fields).objects(pinItems) {
		out = append(out, Pin{
			ID: m.text(fieldID), DeadAt: m.time(pinDeadAt), Replays: int(m.integer(pinReplays)), Line: m.text(pinLine), Consumer: m.text(pinOf),
		})
	}
	return out
}
