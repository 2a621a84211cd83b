package replayer

import (
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// backlog holds what is due and not under way yet, without records, so that each
// is read once however long it waits. It is used by one goroutine.
type backlog struct {
	catalog *contracts.Catalog
	most    int // kept of each group
	items   map[string]*waiting
	lines   map[lineKey]*line
	kept    map[string]int          // by group
	passed  map[string]dlq.DueAfter // the first of a group for which there was no room
	turns   turns
}

// waiting is one of the backlog.
type waiting struct {
	item    *dlq.Item
	targets []string // that it misses, as far as that can be told without its record
	group   string
	pause   parked
	changed bool      // it was not what it had been, once
	told    dlq.Waits // is noted, or being noted
}

// keptEach is how many of a group a backlog keeps for each worker of a lane: with
// the standard 64 and 50 groups that is 50 MiB.
const keptEach = 16

func newBacklog(catalog *contracts.Catalog, workers int) *backlog {
	return &backlog{
		catalog: catalog, most: keptEach * workers, items: make(map[string]*waiting), lines: make(map[lineKey]*line),
		kept: make(map[string]int), passed: make(map[string]dlq.DueAfter), turns: make(turns),
	}
}

// group is what waits for the same: a lane, and the targets.
func group(i *dlq.Item, targets []string) string {
	return string(i.Lane) + " " + strings.Join(targets, " ")
}

// targetsOf lists what an item misses.
func (b *backlog) targetsOf(i *dlq.Item) []string { return dlq.Missing(b.catalog, i) }

// keep takes an item up, or notes how it stands now. What somebody asked for
// always has room. It reports false, and remembers the place, when the item's
// group has none.
func (b *backlog) keep(i *dlq.Item) bool {
	targets := b.targetsOf(i)
	g := group(i, targets)
	if w := b.items[i.ID]; w != nil {
		if l := b.lines[lineOf(w.item)]; l.busy && l.items[0] == w {
			return true // as its round finds it
		}
		pause := w.pause
		b.remove(i.ID)
		b.add(&waiting{item: i, targets: targets, group: g, pause: pause})
		return true
	}
	if b.kept[g] >= b.most && i.Replaying == nil {
		if at, ok := b.passed[g]; !ok || dlq.DueAt(i).Before(at) {
			b.passed[g] = dlq.DueAt(i)
		}
		return false
	}
	b.add(&waiting{item: i, targets: targets, group: g})
	return true
}

func (b *backlog) add(w *waiting) {
	key := lineOf(w.item)
	l := b.lines[key]
	if l == nil {
		l = &line{key: key}
		b.lines[key] = l
	}
	l.add(w)
	b.items[w.item.ID] = w
	b.kept[w.group]++
}

// remove forgets an item.
func (b *backlog) remove(id string) {
	w := b.items[id]
	if w == nil {
		return
	}
	delete(b.items, id)
	if b.kept[w.group]--; b.kept[w.group] == 0 {
		delete(b.kept, w.group)
	}
	l := b.lines[lineOf(w.item)]
	l.items = slices.DeleteFunc(l.items, func(other *waiting) bool { return other == w })
	if len(l.items) == 0 && !l.busy {
		delete(b.lines, l.key)
	}
}

// reached notes that these targets have an item now.
func (b *backlog) reached(w *waiting, acked []string) {
	left := *w.item
	left.PendingTargets = slices.DeleteFunc(slices.Clone(w.targets), func(t string) bool { return slices.Contains(acked, t) })
	pause := w.pause
	b.remove(left.ID)
	targets := b.targetsOf(&left)
	b.add(&waiting{item: &left, targets: targets, group: group(&left, targets), pause: pause})
}

// short returns a group of which more is due than is kept, and little is kept, and
// where that begins.
func (b *backlog) short() (g string, at dlq.DueAfter, ok bool) {
	for g, at = range b.passed {
		if b.kept[g] <= b.most/2 {
			return g, at, true
		}
	}
	return "", dlq.DueAfter{}, false
}

// rung ends the pauses of items, as p ends those of targets.
func (b *backlog) rung(p *parking, now time.Time) {
	for _, w := range b.items {
		p.hasten(&w.pause, now)
	}
}
