package relay

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// hanging is a Store whose pages come once ready is closed.
type hanging struct {
	Store
	ready chan struct{}
	asked atomic.Int64
}

func (h *hanging) Page(ctx context.Context, s Scan) ([]Doc, error) {
	if s.Kind == ScanRetrying {
		h.asked.Add(1)
	}
	select {
	case <-h.ready:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// What is in backoff is looked at beside an outbox's first pages where the owner before has
// been quiet for so long that no mark of it can come any more, and otherwise behind each page
// alone. No page waits for that.
func TestWhenAnOutboxLooksForWhatIsInBackoff(t *testing.T) {
	for name, tc := range map[string]struct {
		since time.Duration // for how long the owner before has been quiet
		looks bool
	}{
		"a quiet owner":    {since: time.Hour, looks: true},
		"just not late":    {since: time.Minute, looks: true},
		"an owner before":  {since: time.Minute - 1},
		"it was here just": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newTestRelay(t)
				store := &hanging{ready: make(chan struct{})}
				r.store, r.tuning.CommitTimeout = store, time.Minute
				o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, idle{since: tc.since})
				g, ctx := errgroup.WithContext(t.Context())
				var returned atomic.Bool
				done := make(chan struct{})
				go func() {
					defer close(done)
					o.lookEarly(ctx, g)
					returned.Store(true)
				}()
				synctest.Wait()
				if looks := store.asked.Load() == 1; looks != tc.looks || !returned.Load() {
					t.Errorf("it looks: %t, and the pages go on: %t; want %t and true", looks, returned.Load(), tc.looks)
				}
				close(store.ready)
				<-done
				if err := g.Wait(); err != nil || o.begun.looked.Load() != tc.looks {
					t.Errorf("no further look is needed: %t, error %v; want %t", o.begun.looked.Load(), err, tc.looks)
				}
			})
		})
	}
}

// panicking is a Store over whose pages the program panics some times.
type panicking struct {
	Store
	times atomic.Int64
}

func (p *panicking) Page(context.Context, Scan) ([]Doc, error) {
	if p.times.Add(-1) >= 0 {
		panic("page")
	}
	return nil, nil
}

func TestAPanicDoesNotEndTheEarlyLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestRelay(t)
		store := &panicking{}
		store.times.Store(3)
		r.store = store
		o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, idle{since: time.Hour})
		g, ctx := errgroup.WithContext(t.Context())
		o.lookEarly(ctx, g)
		if err := g.Wait(); err != nil || !o.begun.looked.Load() {
			t.Errorf("looked: %t, error %v; want true and none", o.begun.looked.Load(), err)
		}
	})
}
