package relay

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// windowed is a Store of a lane's documents, which do not change.
type windowed struct {
	Store
	docs   []Doc
	opened atomic.Int64 // listeners
}

func (s *windowed) Page(_ context.Context, scan Scan) (page []Doc, _ error) {
	for _, d := range s.docs {
		if !d.position().Before(scan.After) && d.position() != scan.After && len(page) < scan.Limit {
			page = append(page, d)
		}
	}
	return page, nil
}

func (s *windowed) Watch(ctx context.Context, scan Scan) (Stream, error) {
	s.opened.Add(1)
	window, err := s.Page(ctx, scan)
	return &still{ctx: ctx, window: window}, err
}

func (s *windowed) Commit(context.Context, []Write) ([]time.Time, error) {
	return []time.Time{at(60_000)}, nil
}

// still is a Stream that tells its window, and then nothing.
type still struct {
	ctx    context.Context
	window []Doc
	told   bool
}

func (s *still) Next() (Snapshot, error) {
	if s.told {
		<-s.ctx.Done()
		return Snapshot{}, s.ctx.Err()
	}
	s.told = true
	return Snapshot{Changed: s.window, Size: len(s.window), ReadTime: at(60_000)}, nil
}

// A commit whose records wait, and that alone fills a window: the listener starts behind
// it. One that starts before it would hide what comes, and be opened anew each second.
func TestAListenerStartsBehindACommitThatFillsItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := testReader(t)
		store := &windowed{}
		for i := range r.window {
			d := Doc{ID: fmt.Sprint("v", i), CreatedAt: at(1000), ReadTime: at(60_000)}
			held(r.intake, d.ID, 1)
			store.docs = append(store.docs, d)
		}
		r.looked = func() {}
		r.outbox.store, r.outbox.tuning.PageSize = store, 2*r.window
		const seconds = 10 // of virtual time
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		defer cancel()
		delay := r.outbox.tuning.retryDelay()
		for ctx.Err() == nil {
			if err := r.round(ctx, delay); err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
		}
		const most = 2 // what it starts behind it learns from the first
		if n := store.opened.Load(); n > most {
			t.Errorf("in %d s %d listeners were opened, want %d at most", seconds, n, most)
		}
		if want := (Position{At: at(1000).Add(time.Microsecond)}); r.listenFrom(Position{At: at(1000), ID: "v9"}) != want {
			t.Error("the next does not start behind the commit")
		}
		if other := (Position{At: at(2000)}); r.listenFrom(Position{At: at(2000), ID: "w"}) != other {
			t.Error("behind another commit, others may have its time")
		}
	})
}
