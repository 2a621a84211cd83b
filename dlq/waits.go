package dlq

import (
	"context"
	"fmt"
	"slices"

	"outboxrelay/contracts"
)

// Waits is what a replay that somebody asked for was found to wait for, the last time
// that it was its turn. The zero value: for its turn. It is forgotten with the request.
type Waits struct {
	Targets []string // that are out, in alphabetical order
	Behind  string   // ID of an older dead letter of its aggregate, which comes first
}

// WaitsForTargets is what waits for these.
func WaitsForTargets(targets []string) Waits {
	return Waits{Targets: slices.Sorted(slices.Values(targets))}
}

// Equal reports whether they are the same.
func (w Waits) Equal(o Waits) bool { return w.Behind == o.Behind && slices.Equal(w.Targets, o.Targets) }

// Tells reports whether it says more than that a replay waits for its turn.
func (w Waits) Tells() bool { return !w.Equal(Waits{}) }

// fields renders it as a part of its request.
func (w Waits) fields() map[string]any {
	return map[string]any{waitsTargets: anySlice(w.Targets), waitsBehind: w.Behind}
}

// Names of its fields in Firestore.
const (
	requestWaits = "waits"
	waitsTargets = "targets"
	waitsBehind  = "behind"
)

func decodeWaits(f reading) Waits { return Waits{f.texts(waitsTargets), f.text(waitsBehind)} }

// waits notes on the item what its replay waits for, and reports whether that is news. A
// replay that nobody asked for, or that somebody asked for anew since asked, has nothing noted.
func (i *Item) waits(asked *Request, w Waits) bool {
	if i.Replaying == nil || asked == nil || i.Replaying.ID != asked.ID || i.Replaying.Waits.Equal(w) {
		return false
	}
	i.Replaying.Waits = w
	return true
}

// Hold notes what the replay waits for that somebody asked for. One that ended or was
// withdrawn meanwhile is left as it is.
func (q *Queue) Hold(ctx context.Context, item *Item, w Waits) error {
	_, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		current, err := q.Item(ctx, item.ID)
		if err != nil || !current.waits(item.Replaying, w) {
			return nil, err
		}
		return []Write{current.update(contracts.DeadFieldReplaying)}, nil
	})
	if err != nil {
		return fmt.Errorf("note what the replay of dead letter %s waits for: %w", item.ID, err)
	}
	return nil
}

// Missing lists the targets that lack the item's record. Without pending targets these
// are all of its route, as far as that can be told without the record.
func Missing(c *contracts.Catalog, i *Item) []string {
	if len(i.PendingTargets) > 0 {
		return i.PendingTargets
	}
	if outbox := c.Outbox(i.Outbox); outbox != nil {
		if route := outbox.Route(i.EventType); route != nil {
			return route.Targets
		}
	}
	return nil
}
