package relay

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/relay/feed"
)

// pagesOf is a store that holds so many documents in its order.
type pagesOf struct {
	Store
	docs []Doc
	read int // pages
}

func (s *pagesOf) Page(_ context.Context, scan Scan) ([]Doc, error) {
	s.read++
	if len(s.docs) == 0 {
		return nil, errors.New("no answer")
	}
	i := slices.IndexFunc(s.docs, func(d Doc) bool { return scan.After.Before(d.position()) })
	if i < 0 {
		return nil, nil
	}
	return s.docs[i:min(len(s.docs), i+scan.Limit)], nil
}

// TestWhole: documents 1 to 9, a second each, in pages of 4 and a window of 8.
func TestWhole(t *testing.T) {
	var all []Doc
	for v := range int64(9) {
		all = append(all, docOf(v+1, time.Duration(9-v)*time.Second))
	}
	of := func(versions ...int) (docs []Doc) {
		for _, v := range versions {
			docs = append(docs, all[v-1])
		}
		return docs
	}
	for _, c := range []struct {
		name   string
		there  []Doc // in Firestore
		told   []Doc
		want   []Doc
		remain int
		pages  int
		err    error
	}{
		{"nothing new", of(1, 2), nil, nil, 3, 0, nil},
		{"all that is there", of(1, 2), of(1, 2), of(1, 2), 0, 1, nil},
		{"the younger alone", of(1, 2, 3), of(3), of(3, 1, 2), 2, 1, nil},
		{"what came after it is no fault", of(1, 2), of(1), of(1, 2), 0, 1, nil},
		{"a page's edge is not passed", of(1, 2, 3, 4, 5), of(2), of(2, 1), 2, 1, nil},
		{"two pages", of(1, 2, 3, 4, 5, 6), of(6), of(6, 1, 2, 3, 4, 5), 2, 2, nil},
		{"more than a window", of(1, 2, 3, 4, 5, 6, 7, 8, 9), of(9), of(9, 1, 2, 3, 4, 5, 6, 7, 8), 3, 2, errBacklog},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := testReader(t)
			store := &pagesOf{docs: c.there}
			r.outbox.store, r.outbox.tuning.PageSize, r.window = store, 4, 8
			got, remain, err := r.whole(t.Context(), Position{}, c.told, 3)
			if !errors.Is(err, c.err) || remain != c.remain || store.read != c.pages {
				t.Errorf("got %d more times and %v after %d pages, want %d and %v after %d", remain, err, store.read, c.remain, c.err, c.pages)
			}
			ids := func(docs []Doc) (ids []string) {
				for _, d := range docs {
					ids = append(ids, d.ID)
				}
				return ids
			}
			if diff := cmp.Diff(ids(c.want), ids(got)); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

// A record of the cursor's very moment may have been committed after the cursor
// passed it.
func TestWholeBeginsWithTheCursorsMoment(t *testing.T) {
	first, second, third := docOf(1, 3*time.Second), docOf(2, 3*time.Second), docOf(3, time.Second)
	r := testReader(t)
	r.outbox.store, r.outbox.tuning.PageSize, r.window = &pagesOf{docs: []Doc{first, second, third}}, 4, 8
	r.intake.ledger.step(feed.Batch{Feed: r.intake.feed, UpTo: second.position()})
	got, _, err := r.whole(t.Context(), Position{}, []Doc{third}, 3)
	if err != nil || !slices.ContainsFunc(got, func(d Doc) bool { return d.ID == first.ID }) {
		t.Errorf("got %d documents and %v, want %s among them", len(got), err, first.ID)
	}
}

// A window that starts behind the commit at the cursor, which would fill it, is not completed
// by that: its reader would take the commit for a backlog each time that a stream opens.
func TestWholeBeginsWithTheWindow(t *testing.T) {
	var there []Doc
	for version := range int64(8) {
		there = append(there, docOf(version, 3*time.Second))
	}
	last, told := there[7], docOf(9, time.Second)
	r := testReader(t)
	r.outbox.store, r.outbox.tuning.PageSize, r.window = &pagesOf{docs: append(there, told)}, 4, 8
	r.intake.ledger.step(feed.Batch{Feed: r.intake.feed, UpTo: last.position()})
	r.fills = last.CreatedAt
	from := r.listenFrom(last.position())
	got, _, err := r.whole(t.Context(), from, []Doc{told}, 3)
	if err != nil || len(got) != 1 {
		t.Errorf("got %d documents and %v, want the one that was told", len(got), err)
	}
}

// What opened is told with the next take, whatever came between.
func TestOpeningIsToldOnce(t *testing.T) {
	r := testReader(t)
	scan := r.scan
	scan.Limit = r.window
	l := &listener{scan: scan, state: r.outbox.health.listener(scan), ready: make(chan struct{}, 1), changed: make(map[string]Doc)}
	bird := newWatchdog(l)
	l.put(Snapshot{Changed: []Doc{docOf(2, time.Second)}, Size: 1}, true, bird)
	l.put(Snapshot{Changed: []Doc{docOf(1, 2*time.Second)}, Size: 2}, false, bird)
	if docs, _, opened := l.take(); len(docs) != 2 || !opened {
		t.Errorf("took %d documents, opened %t; want both, and that it opened", len(docs), opened)
	}
	l.put(Snapshot{Size: 2}, false, bird)
	if _, _, opened := l.take(); opened {
		t.Error("it is told again that it opened")
	}
}
