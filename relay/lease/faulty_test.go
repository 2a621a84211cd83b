package lease

import (
	"context"
	"sync"
	"time"

	"outboxrelay/dlq"
)

// faulty is one instance's way to a store, with its faults.
type faulty struct {
	store   Store
	latency time.Duration // each way

	mu        sync.Mutex
	faults    faults
	listeners int // opened so far
}

type faults struct {
	cut    bool                    // every call waits in vain for its answer
	down   bool                    // every call is answered with Unavailable
	deaf   bool                    // listeners say nothing
	late   time.Duration           // commits are applied so much later, and not answered
	mute   bool                    // commits are judged and applied, and not answered in time
	lose   int                     // the answers of so many commits are lost
	commit func([]dlq.Write) error // judges commits before the store does
	get    func() error            // judges reads of documents before the store does
}

// with changes the faults.
func (c *faulty) with(f func(*faults)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.faults)
}

func (c *faulty) now() faults {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

// opened is how many listeners were opened so far.
func (c *faulty) opened() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listeners
}

// way is one way of a call.
func (c *faulty) way(ctx context.Context) error {
	sleep(ctx, c.latency)
	f := c.now()
	if f.cut {
		<-ctx.Done()
	}
	if f.down {
		return errUnavailable
	}
	if ctx.Err() != nil {
		return errDeadline
	}
	return nil
}

// Get implements Store.
func (c *faulty) Get(ctx context.Context, collection string, ids ...string) ([]dlq.Doc, error) {
	if err := c.way(ctx); err != nil {
		return nil, err
	}
	if f := c.now(); f.get != nil {
		if err := f.get(); err != nil {
			return nil, err
		}
	}
	docs, err := c.store.Get(ctx, collection, ids...)
	if back := c.way(ctx); back != nil {
		return nil, back
	}
	return docs, err
}

// Query implements Store.
func (c *faulty) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	if err := c.way(ctx); err != nil {
		return nil, err
	}
	docs, err := c.store.Query(ctx, q)
	if back := c.way(ctx); back != nil {
		return nil, back
	}
	return docs, err
}

// Commit implements Store.
func (c *faulty) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	if err := c.way(ctx); err != nil {
		return time.Time{}, err
	}
	f := c.now()
	if f.commit != nil {
		if err := f.commit(writes); err != nil {
			return time.Time{}, err
		}
	}
	if f.late > 0 {
		time.AfterFunc(f.late, func() { c.store.Commit(context.Background(), writes) })
		<-ctx.Done()
		return time.Time{}, errDeadline
	}
	at, err := c.store.Commit(ctx, writes)
	if f.mute {
		<-ctx.Done()
		return time.Time{}, errDeadline
	}
	if c.now().lose > 0 && err == nil {
		c.with(func(f *faults) { f.lose-- })
		return time.Time{}, errUnavailable
	}
	if back := c.way(ctx); back != nil {
		return time.Time{}, back
	}
	return at, err
}

// Watch implements Store.
func (c *faulty) Watch(ctx context.Context, q dlq.Query, f func([]dlq.Doc)) error {
	c.with(func(*faults) { c.listeners++ })
	return c.store.Watch(ctx, q, func(docs []dlq.Doc) {
		sleep(ctx, c.latency)
		if now := c.now(); !now.deaf && !now.cut && !now.down {
			f(docs)
		}
	})
}
