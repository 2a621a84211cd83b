package dlq

import (
	"cmp"
	"slices"
	"time"
)

// turn is when a dead letter may try again whose older one comes first: a
// moment after the older's own time. An older one that is late, or waits for a
// person, has none that anybody knows: then the wait grows with the time waited
// so far, so that what waits for days is not looked at each second. It is never
// long, as people may end the older one at any time.
func turn(now time.Time, item, older *Item) time.Time {
	const (
		moment = time.Second
		long   = 30 * time.Second
	)
	switch {
	case older.NextReplayAt.After(now):
		return now.Add(min(older.NextReplayAt.Sub(now)+moment, long))
	case !older.NextReplayAt.IsZero():
		return now.Add(min(max(now.Sub(older.NextReplayAt)/4, moment), long))
	}
	most := long
	if item.Replaying != nil { // somebody looks on
		most = 15 * time.Second
	}
	return now.Add(min(max(now.Sub(item.DeadAt)/4, 5*moment), most))
}

// line is dead letters of one aggregate and outbox, the lowest version first:
// they are replayed one after another.
type line struct {
	key   lineKey
	items []*Item
}

type lineKey struct{ outbox, aggregate, item string }

// lineOf is the line that an item stands in. Without an aggregate it stands
// alone.
func lineOf(i *Item) lineKey {
	if i.AggregateID == "" {
		return lineKey{outbox: i.Outbox, item: i.ID}
	}
	return lineKey{outbox: i.Outbox, aggregate: i.AggregateID}
}

// linesOf sorts items into lines, in the order in which their first ones come.
func linesOf(items []*Item) []*line {
	var lines []*line
	byKey := make(map[lineKey]*line)
	for _, i := range items {
		l := byKey[lineOf(i)]
		if l == nil {
			l = &line{key: lineOf(i)}
			byKey[l.key] = l
			lines = append(lines, l)
		}
		l.items = append(l.items, i)
	}
	for _, l := range lines {
		slices.SortStableFunc(l.items, func(a, b *Item) int { return cmp.Compare(a.AggregateVersion, b.AggregateVersion) })
	}
	return lines
}
