package firestore

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"
)

// entry is a document's place in a view.
type entry struct {
	key string
	rec *record
}

type entryTree = btree.BTreeG[entry]

// view keeps the documents of one shape of query in order. Commits keep it up to
// date; queries and listeners of that shape read it, so that neither a page nor a
// snapshot costs more than what it returns. It is the embedded server's index.
//
// A view is filled from a snapshot without the server's lock. Until ready is
// closed, commits leave their changes in backlog. All else is under the lock.
type view struct {
	shape
	tree    *entryTree
	ready   chan struct{}
	filled  bool
	backlog []change
	targets map[*target]struct{}
	leases  int // users between acquire and release
	dropped bool
	used    atomic.Int64 // Unix nanoseconds of the last use
}

func newView(s shape) *view {
	return &view{
		shape:   s,
		tree:    btree.NewBTreeGOptions(func(a, b entry) bool { return a.key < b.key }, btree.Options{NoLocks: true, Degree: 64}),
		ready:   make(chan struct{}),
		targets: map[*target]struct{}{},
	}
}

// fill reads the documents of a snapshot; it takes no lock.
func (v *view) fill(docs *recordTree) {
	var d reader
	d.database = v.database
	var found []entry
	var buf []byte
	v.eachRecord(docs, func(r *record) {
		d.reset(r)
		var ok bool
		if buf, ok = v.key(&d, buf); ok {
			found = append(found, entry{string(buf), r})
		}
	})
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	for _, e := range found {
		v.tree.Load(e)
	}
}

// finish takes in what was committed while the view was filled.
func (v *view) finish() {
	d := reader{database: v.database}
	v.filled = true
	for _, c := range v.backlog {
		v.apply(c, &d, &d)
	}
	v.backlog = nil
	close(v.ready)
}

// apply brings the view up to date with one change. The readers may come with the
// change's two versions already set.
func (v *view) apply(c change, before, after *reader) {
	if !v.filled {
		v.backlog = append(v.backlog, c)
		return
	}
	var a, b [128]byte
	if before.rec != c.old {
		before.reset(c.old)
	}
	oldKey, had := v.key(before, a[:0])
	if after.rec != c.new {
		after.reset(c.new)
	}
	newKey, has := v.key(after, b[:0])
	if !had && !has {
		return
	}
	moved := !had || !has || string(oldKey) != string(newKey)
	oldPlace, newPlace := "", ""
	if had {
		oldPlace = bytesString(oldKey)
		if moved {
			v.tree.Delete(entry{key: oldPlace})
		}
	}
	if has {
		newPlace = string(newKey)
		v.tree.Set(entry{newPlace, c.new})
	}
	for t := range v.targets {
		t.touch(c, had && t.query.contains(oldPlace), has && t.query.contains(newPlace))
	}
}

// eachRecord calls f with every document of the shape's collections.
func (s *shape) eachRecord(docs *recordTree, f func(*record)) {
	if !s.group {
		eachInCollection(docs, s.scope, f)
		return
	}
	eachCollection(docs, func(collection string) {
		if s.covers(collection) {
			eachInCollection(docs, collection, f)
		}
	})
}

func (v *view) touchUsed(now time.Time) { v.used.Store(now.UnixNano()) }

// idle reports whether nobody uses the view or has since the time given.
func (v *view) idle(since time.Time) bool {
	return v.leases == 0 && len(v.targets) == 0 && v.used.Load() < since.UnixNano()
}
