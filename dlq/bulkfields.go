package dlq

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"outboxrelay/contracts"
)

// Names of a bulk replay's fields in Firestore.
const (
	bulkState       = "state"
	bulkPhase       = "phase"
	bulkFilter      = "filter"
	bulkRateField   = "ratePerSecond"
	bulkBy          = "by"
	bulkRole        = "role"
	bulkReason      = "reason"
	bulkCreatedAt   = "createdAt"
	bulkEndedAt     = "endedAt"
	bulkEndReason   = "endReason"
	bulkCancelledBy = "cancelledBy"
	bulkCancel      = "cancel" // ID of the decision that cancelled it
	bulkTotal       = "total"
	bulkDelivered   = "delivered"
	bulkFailed      = "failed"
	bulkSkipped     = "skipped"
	bulkReplaying   = "replaying"
	bulkWaiting     = "waiting"
	// bulkSettled is false until nothing that it asked for is under way any more:
	// one that was cancelled is followed until then.
	bulkSettled   = "settled"
	bulkPicked    = "picked"
	bulkFailedIDs = "failedIds"
	bulkPinned    = "pinned" // names where its pinned items stand; left out: its own ID
	bulkOrder     = "order"  // of one with a key: hash of what was ordered

	pinItems   = "items"
	pinDeadAt  = "deadAt"
	pinReplays = "replays"
	pinLine    = "line"
)

// created renders a new bulk replay as its document.
func (b *Bulk) created() (map[string]any, error) {
	filter, err := filterFields(b.Filter)
	if err != nil {
		return nil, err
	}
	f := b.progress()
	maps.Copy(f, map[string]any{
		bulkState: string(b.State), bulkFilter: filter, bulkRateField: b.RatePerSecond, bulkBy: b.By.Name, bulkRole: b.By.Role.String(),
		bulkReason: b.Reason, bulkCreatedAt: ServerTime{}, bulkTotal: b.Total, bulkSettled: false, bulkPicked: b.Picked,
		bulkPinned: b.Pinned, bulkOrder: b.Order,
	})
	return f, nil
}

// progress renders the fields that change while it runs.
func (b *Bulk) progress() map[string]any {
	return map[string]any{
		bulkPhase: b.Phase, bulkDelivered: b.Delivered, bulkFailed: b.Failed, bulkSkipped: b.Skipped,
		bulkReplaying: b.Replaying, bulkWaiting: b.Waiting, bulkFailedIDs: append([]string{}, b.FailedIDs...),
	}
}

// decodeBulk reads a bulk replay's document.
func decodeBulk(d Doc) *Bulk {
	f := reading(d.Fields)
	role, _ := ParseRole(f.text(bulkRole))
	count := func(name string) int { return int(f.integer(name)) }
	b := &Bulk{
		ID: d.ID, State: BulkState(f.text(bulkState)), Phase: f.text(bulkPhase), Filter: decodeFilter(f.object(bulkFilter)),
		By: Actor{Name: f.text(bulkBy), Role: role}, Reason: f.text(bulkReason), CreatedAt: f.time(bulkCreatedAt),
		EndedAt: f.time(bulkEndedAt), EndReason: f.text(bulkEndReason), CancelledBy: f.text(bulkCancelledBy),
		Total: count(bulkTotal), Delivered: count(bulkDelivered), Failed: count(bulkFailed), Skipped: count(bulkSkipped),
		Replaying: count(bulkReplaying), Waiting: count(bulkWaiting), FailedIDs: f.texts(bulkFailedIDs), UpdateTime: d.UpdateTime,
		Picked: f.flag(bulkPicked), Pinned: cmp.Or(f.text(bulkPinned), d.ID), Order: f.text(bulkOrder),
	}
	switch v := d.Fields[bulkRateField].(type) {
	case float64:
		b.RatePerSecond = v
	case int64:
		b.RatePerSecond = float64(v)
	}
	return b
}

// filterFields renders a filter as a map with the names of its JSON.
func filterFields(f Filter) (map[string]any, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode filter: %w", err)
	}
	out := make(map[string]any)
	err = json.Unmarshal(data, &out)
	return out, err
}

// decodeFilter is lenient: the filter of a bulk replay is shown, not used.
func decodeFilter(m map[string]any) (f Filter) {
	data, err := json.Marshal(m)
	if err == nil {
		_ = json.Unmarshal(data, &f) // what it cannot read stays zero
	}
	return f
}

// pinCollection is where pinned items stand. They are written before the bulk
// replay, so each start has a place of its own: of two that start the same one,
// the loser's are never looked at.
func pinCollection(pinned string) string {
	return contracts.CollectionReplays + "/" + pinned + "/" + pinItems
}

// Bounds of one document of pinned items.
const (
	chunkPins  = 500
	chunkBytes = 512 << 10 // of their IDs: a document takes 1 MiB
)

// chunks renders pins as the writes of their documents, in order.
func chunks(pinned string, pins []pin) []Write {
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
		if len(items) == chunkPins || size+len(p.id) > chunkBytes {
			flush()
		}
		items = append(items, map[string]any{fieldID: p.id, pinDeadAt: p.deadAt, pinReplays: p.replays, pinLine: p.line})
		size += len(p.id)
	}
	flush()
	return out
}

// decodePins reads one document of pinned items.
func decodePins(d Doc) []pin {
	var out []pin
	for _, m := range reading(d.Fields).objects(pinItems) {
		out = append(out, pin{id: m.text(fieldID), deadAt: m.time(pinDeadAt), replays: int(m.integer(pinReplays)), line: m.text(pinLine)})
	}
	return out
}
