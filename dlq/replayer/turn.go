package replayer

import (
	"cmp"
	"slices"
	"time"

	"outboxrelay/dlq"
)

// turn is when a dead letter looks again whose older one comes first: a moment
// after the older's own time. An older one that is late, or waits for a person,
// has none that anybody knows: then the wait grows with the time waited so far.
// Each look of each that waits costs reads and a write, and mostly none is needed:
// the queue calls it once the older one has ended. The bound is for a call that
// was lost with its process.
func turn(now time.Time, item, older *dlq.Item) time.Time {
	const moment = time.Second
	most := 10 * time.Minute
	if item.Replaying != nil { // somebody looks on
		most = time.Minute
	}
	switch {
	case older.NextReplayAt.After(now):
		return now.Add(min(older.NextReplayAt.Sub(now)+moment, most))
	case !older.NextReplayAt.IsZero():
		return now.Add(min(max(now.Sub(older.NextReplayAt)/4, moment), most))
	}
	return now.Add(min(max(now.Sub(item.DeadAt)/4, 5*moment), most))
}

// line is the dead letters of one aggregate and outbox that wait, of one consumer or the
// relay's own, the lowest version first: they are replayed one after another. That a
// consumer's comes behind the relay's own is looked at before each replay.
type line struct {
	key   lineKey
	items []*waiting
	busy  bool // a worker has the first
}

type lineKey struct{ outbox, aggregate, consumer, item string }

// lineOf is the line that an item stands in. Without an aggregate it stands
// alone.
func lineOf(i *dlq.Item) lineKey {
	if i.AggregateID == "" {
		return lineKey{outbox: i.Outbox, item: i.ID}
	}
	return lineKey{outbox: i.Outbox, aggregate: i.AggregateID, consumer: i.Consumer}
}

// add puts one into its place; never before the one that a worker has.
func (l *line) add(w *waiting) {
	first := 0
	if l.busy {
		first = min(1, len(l.items))
	}
	n, _ := slices.BinarySearchFunc(l.items[first:], w, func(a, b *waiting) int {
		return cmp.Or(cmp.Compare(a.item.AggregateVersion, b.item.AggregateVersion), a.item.NextReplayAt.Compare(b.item.NextReplayAt), cmp.Compare(a.item.ID, b.item.ID))
	})
	l.items = slices.Insert(l.items, first+n, w)
}

// asked reports whether somebody asked for one of it: then all of it hurries.
func (l *line) asked() bool {
	return slices.ContainsFunc(l.items, func(w *waiting) bool { return w.item.Replaying != nil })
}
