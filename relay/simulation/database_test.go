package simulation

import (
	"maps"
	"sync"
	"time"

	"outboxrelay/dlq"
)

// database is a Firestore in memory: atomic commits with preconditions, at times
// that never go back, and reads of what stands. That answers come late, or never,
// is the wires' part.
type database struct {
	skew time.Duration // of its clock against the local one

	mu          sync.Mutex
	last        time.Time // of the latest commit
	collections map[string]*collection
	committed   func(at time.Time, by string, changes []change) // told of each commit, under the lock
}

type collection struct {
	docs     map[string]*document
	watchers map[chan struct{}]struct{}
}

// document is never changed once it stands: a commit puts another in its place.
type document struct {
	id               string
	fields           map[string]any
	created, updated time.Time
}

// change is what a commit did to a document; before and after are nil where there
// was none.
type change struct {
	collection    string
	before, after *document
}

func newDatabase(skew time.Duration) *database {
	return &database{skew: skew, collections: make(map[string]*collection)}
}

// now is the server's time, in Firestore's microseconds.
func (db *database) now() time.Time { return time.Now().UTC().Add(db.skew).Truncate(time.Microsecond) }

func (db *database) collectionLocked(name string) *collection {
	c := db.collections[name]
	if c == nil {
		c = &collection{docs: make(map[string]*document), watchers: make(map[chan struct{}]struct{})}
		db.collections[name] = c
	}
	return c
}

// read hands a collection's documents to f, as they stand at one moment, which it
// returns.
func (db *database) read(name string, f func(map[string]*document)) time.Time {
	db.mu.Lock()
	defer db.mu.Unlock()
	f(db.collectionLocked(name).docs)
	return db.now()
}

// watch has a token put into c after each change of a collection, until the
// returned function is called.
func (db *database) watch(name string, c chan struct{}) (stop func()) {
	db.mu.Lock()
	defer db.mu.Unlock()
	watched := db.collectionLocked(name)
	watched.watchers[c] = struct{}{}
	return func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		delete(watched.watchers, c)
	}
}

// commit applies all writes or none. equal gives it the time of the commit before,
// if none of its documents was written by that. It returns the update times of the
// documents after it.
func (db *database) commit(by string, writes []dlq.Write, equal bool) ([]time.Time, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	at := db.now()
	if !at.After(db.last) {
		at = db.last.Add(time.Microsecond)
	}
	if equal && db.untouchedLocked(writes) {
		at = db.last
	}
	staged := make(map[string]*document) // by path
	var order []change
	for _, w := range writes {
		path := w.Collection + "/" + w.ID
		stands, seen := staged[path]
		if !seen {
			stands = db.collectionLocked(w.Collection).docs[w.ID]
		}
		if err := refusal(w, stands); err != nil {
			return nil, err
		}
		staged[path] = applied(w, stands, at)
		order = append(order, change{w.Collection, stands, staged[path]})
	}
	updated := make([]time.Time, len(order))
	for i, c := range order {
		if c.after != nil {
			updated[i] = c.after.updated
		}
		db.putLocked(c)
	}
	db.last = at
	if db.committed != nil {
		db.committed(at, by, order)
	}
	return updated, nil
}

func (db *database) untouchedLocked(writes []dlq.Write) bool {
	for _, w := range writes {
		if d := db.collectionLocked(w.Collection).docs[w.ID]; d != nil && !d.updated.Before(db.last) {
			return false
		}
	}
	return !db.last.IsZero()
}

func (db *database) putLocked(c change) {
	into := db.collectionLocked(c.collection)
	switch {
	case c.after == nil && c.before != nil:
		delete(into.docs, c.before.id)
	case c.after != nil:
		into.docs[c.after.id] = c.after
	}
	for watcher := range into.watchers {
		signal(watcher)
	}
}

// refusal is why a write cannot be applied to what stands.
func refusal(w dlq.Write, stands *document) error {
	switch {
	case w.Op == dlq.OpCreate && stands != nil:
		return failed("AlreadyExists")
	case w.Op == dlq.OpUpdate && stands == nil:
		return failed("NotFound")
	case w.IfUnchangedSince.IsZero():
		return nil
	case stands == nil || !stands.updated.Equal(w.IfUnchangedSince):
		return failed("FailedPrecondition")
	}
	return nil
}

// applied is what a write makes of what stands. One that changes nothing leaves
// the update time.
func applied(w dlq.Write, stands *document, at time.Time) *document {
	if w.Op == dlq.OpDelete {
		return nil
	}
	next := &document{id: w.ID, created: at, updated: at, fields: make(map[string]any)}
	replaces := w.Op == dlq.OpCreate || w.Op == dlq.OpSet
	if stands != nil {
		next.created = stands.created
		if !replaces {
			maps.Copy(next.fields, stands.fields)
		}
	}
	for name, v := range w.Fields {
		if v == nil && !replaces {
			delete(next.fields, name)
			continue
		}
		next.fields[name] = stored(v, at)
	}
	for name, members := range w.Union {
		next.fields[name] = united(next.fields[name], members)
	}
	if stands != nil && equalValues(stands.fields, next.fields) {
		next.updated = stands.updated
	}
	return next
}

// signal puts a token into a channel of capacity one, if there is none.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
