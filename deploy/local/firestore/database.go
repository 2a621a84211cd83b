package firestore

import (
	"math"
	"slices"
	"time"

	"github.com/tidwall/btree"
)

type recordTree = btree.BTreeG[*record]

// change is one document's step from one version to the next; nil is absence.
type change struct{ old, new *record }

func (c change) path() string {
	if c.new != nil {
		return c.new.path
	}
	return c.old.path
}

// database is one database of one project. The server's lock guards it.
type database struct {
	name    string
	docs    *recordTree // copied on write: a copy is a snapshot
	views   map[string]*view
	by      map[string][]*view              // views by the collection ID that they cover
	watched map[string]map[*target]struct{} // document targets by path
	history history
	changed micros // time of the last change

	before, after reader // scratch of apply
}

func newDatabase(name string, at micros) *database {
	return &database{
		name:    name,
		docs:    btree.NewBTreeGOptions((*record).less, btree.Options{NoLocks: true, Degree: 64}),
		views:   map[string]*view{},
		by:      map[string][]*view{},
		watched: map[string]map[*target]struct{}{},
		history: history{floor: at},
		before:  reader{database: name},
		after:   reader{database: name},
	}
}

func (db *database) get(path string) *record { return find(db.docs, path) }

func find(docs *recordTree, path string) *record {
	r, _ := docs.Get(newRecord(path, 0, 0, nil))
	return r
}

// apply makes a commit's changes visible: to reads, to views and to listeners.
func (db *database) apply(at micros, changes []change) {
	for _, c := range changes {
		if c.new == nil {
			db.docs.Delete(c.old)
		} else {
			db.docs.Set(c.new)
		}
		db.before.reset(c.old)
		db.after.reset(c.new)
		path := c.path()
		for _, v := range db.by[collectionID(parentOf(path))] {
			v.apply(c, &db.before, &db.after)
		}
		for t := range db.watched[path] {
			t.touch(c, c.old != nil, c.new != nil)
		}
	}
	db.history.add(at, changes)
	db.changed = at
}

const (
	viewIdle  = time.Minute // an unused view lives this long
	viewSpare = 64          // and at most so many of them
)

// lease returns the view of a shape for its user to wait for, and to release. A
// view that was not there comes with the snapshot from which to fill it.
func (db *database) lease(s shape, now time.Time) (v *view, fill *recordTree) {
	v = db.views[s.id]
	if v == nil {
		v = newView(s)
		db.views[s.id] = v
		db.by[s.collection] = append(db.by[s.collection], v)
		fill = db.docs.Copy()
		defer db.dropViews(now)
	}
	v.leases++
	v.touchUsed(now)
	return v, fill
}

// dropViews forgets what was unused for a while, and the least recently used
// beyond the spare ones.
func (db *database) dropViews(now time.Time) {
	var spare []*view
	for _, v := range db.views {
		switch {
		case v.idle(now.Add(-viewIdle)):
			db.drop(v)
		case v.idle(time.Unix(0, math.MaxInt64)):
			spare = append(spare, v)
		}
	}
	if len(spare) <= viewSpare {
		return
	}
	slices.SortFunc(spare, func(a, b *view) int { return int(a.used.Load() - b.used.Load()) })
	for _, v := range spare[:len(spare)-viewSpare] {
		db.drop(v)
	}
}

func (db *database) drop(v *view) {
	v.dropped = true
	delete(db.views, v.id)
	rest := slices.DeleteFunc(db.by[v.collection], func(o *view) bool { return o == v })
	if db.by[v.collection] = rest; len(rest) == 0 {
		delete(db.by, v.collection)
	}
}

// eachInCollection calls f with a collection's documents in the order of their IDs.
func eachInCollection(docs *recordTree, collection string, f func(*record)) {
	docs.Ascend(newRecord(collection+"/", 0, 0, nil), func(r *record) bool {
		if r.parent() != collection {
			return false
		}
		f(r)
		return true
	})
}

// eachCollection calls f with the path of every collection that holds documents,
// in order, at the cost of one look-up each.
func eachCollection(docs *recordTree, f func(collection string)) {
	at := newRecord("/", 0, 0, nil)
	for {
		var next *record
		docs.Ascend(at, func(r *record) bool {
			next = r
			return false
		})
		if next == nil {
			return
		}
		f(next.parent())
		at = newRecord(next.parent()+"\x00/", 0, 0, nil)
	}
}
