package firestore

import (
	"slices"
	"strings"
)

// target is one thing that a stream listens to: a query or some documents. Commits
// mark what changed (touch, under the server's lock); the stream turns that into
// messages when it gets to it (collect), however many commits lie between. So a
// slow client costs memory for what changed, never time of a commit.
type target struct {
	id    int32
	once  bool
	reset bool // the client must forget what it has
	wake  func()

	query *query // or
	view  *view
	names []string // paths of documents

	started bool             // the client has, or is about to have, the first state
	dirty   bool             // something changed since
	steps   map[string]*step // what changed, where the result has no window
	window  []*record        // what the client has, where it has one
}

// step is what happened to one document since the client was last told.
type step struct {
	change
	had, has bool // it was, and is, in the result
}

// touch notes a change; had and has tell whether the document was and is in the
// result, leaving the window aside.
func (t *target) touch(c change, had, has bool) {
	if !t.started {
		return
	}
	if t.query != nil && t.query.windowed() {
		if had || has {
			t.dirty = true
			t.wake()
		}
		return
	}
	if s := t.steps[c.path()]; s != nil {
		s.new, s.has = c.new, has
	} else if had || has {
		if t.steps == nil {
			t.steps = map[string]*step{}
		}
		t.steps[c.path()] = &step{c, had, has}
	} else {
		return
	}
	t.dirty = true
	t.wake()
}

// notice is one message to the client about one document.
type notice struct {
	t    *target
	kind noticeKind
	rec  *record // of added
	path string  // of removed and deleted
}

type noticeKind int

const (
	added   noticeKind = iota // or modified
	removed                   // it exists, outside the result
	deleted
)

// collect returns what the client has to be told to have the result of now, and
// how many reads that is billed as. The caller holds the server's lock.
func (t *target) collect(db *database) (out []notice, reads int) {
	add := func(kind noticeKind, r *record, path string) {
		out = append(out, notice{t, kind, r, path})
	}
	switch {
	case t.query == nil && !t.started:
		for _, path := range t.names {
			if r := db.get(path); r != nil {
				add(added, r, "")
			} else {
				add(deleted, nil, path)
			}
			reads++
		}
	case t.query != nil && t.query.windowed():
		out, reads = t.collectWindow(db)
	case !t.started:
		t.query.ascend(t.view.tree, func(e entry) bool {
			add(added, e.rec, "")
			return true
		})
		reads = max(1, len(out))
	default:
		for path, s := range t.steps {
			switch {
			case s.has && (!s.had || s.old != s.new):
				add(added, s.new, "")
				reads++
			case s.had && !s.has && db.get(path) == nil:
				add(deleted, nil, path)
			case s.had && !s.has: // it may have come back elsewhere since
				add(removed, nil, path)
				reads++
			}
		}
	}
	t.steps, t.dirty, t.started = nil, false, true
	return out, reads
}

func (t *target) collectWindow(db *database) (out []notice, reads int) {
	had := make(map[string]*record, len(t.window))
	for _, r := range t.window {
		had[r.path] = r
	}
	now := make([]*record, 0, len(t.window))
	t.query.scan(t.view.tree, func(e entry) {
		now = append(now, e.rec)
		if had[e.rec.path] != e.rec {
			out = append(out, notice{t: t, kind: added, rec: e.rec})
			reads++
		}
		delete(had, e.rec.path)
	})
	for path, sent := range had {
		switch db.get(path) {
		case nil:
			out = append(out, notice{t: t, kind: deleted, path: path})
		case sent: // pushed out by others
			out = append(out, notice{t: t, kind: removed, path: path})
		default:
			out = append(out, notice{t: t, kind: removed, path: path})
			reads++
		}
	}
	if !t.started {
		reads = max(1, reads)
	}
	t.window = now
	return out, reads
}

// resume puts the target into the state of a client that saw everything before
// the changes given.
func (t *target) resume(db *database, changes []change) {
	t.started = true
	d := &db.before
	switch {
	case t.query == nil:
		for _, c := range changes {
			if slices.Contains(t.names, c.path()) {
				t.touch(c, c.old != nil, c.new != nil)
			}
		}
	case t.query.windowed():
		t.window = t.query.windowBefore(t.view.tree, changes, d)
		t.dirty = true
	default:
		for _, c := range changes {
			_, had := t.query.place(d, c.old)
			_, has := t.query.place(d, c.new)
			t.touch(c, had, has)
		}
	}
}

// place is a record's key; ok is false when the query, its window aside, does not
// select it.
func (q *query) place(d *reader, r *record) (key string, ok bool) {
	d.reset(r)
	b, ok := q.key(d, nil)
	return string(b), ok && q.contains(string(b))
}

// windowBefore is the query's result before some changes that the view has seen.
func (q *query) windowBefore(tree *entryTree, changes []change, d *reader) (result []*record) {
	changed := make(map[string]bool, len(changes))
	var undone []entry
	for _, c := range changes {
		changed[c.path()] = true
		if key, ok := q.place(d, c.old); ok {
			undone = append(undone, entry{key, c.old})
		}
	}
	slices.SortFunc(undone, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	w := q.window()
	take := func(r *record) {
		if w.take() {
			result = append(result, r)
		}
	}
	q.ascend(tree, func(e entry) bool {
		for len(undone) > 0 && undone[0].key < e.key {
			take(undone[0].rec)
			undone = undone[1:]
		}
		if !changed[e.rec.path] {
			take(e.rec)
		}
		return w.left != 0
	})
	for _, e := range undone {
		take(e.rec)
	}
	return result
}
