package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// beginning is the time from the take-over of an outbox to its first delivery.
//
// The owner before may be late: a retry mark of it that is applied between a look
// at the records in backoff and a page of pending ones moves a record from the one
// to the other behind our back, and younger ones of its aggregate would be
// delivered before it. So those in backoff are looked at after a page was
// read and before anything of it is taken, for as long as such a mark may come;
// and nothing is delivered before each lane's first page is there, also of what
// comes as strays.
type beginning struct {
	over  *atomic.Bool
	pages *sync.WaitGroup // lanes whose first page is not there yet

	until time.Time // from then on no mark of the owner before comes any more
	looks *atomic.Int64
	turn  chan struct{} // holds a token of who looks
}

// newBeginning makes one that began at began. What the owner before wrote last is
// applied within that long after.
func newBeginning(lanes int, shared bool, began time.Time, within time.Duration) beginning {
	b := beginning{
		over: new(atomic.Bool), pages: new(sync.WaitGroup), until: began.Add(within), looks: new(atomic.Int64), turn: make(chan struct{}, 1),
	}
	if b.pages.Add(lanes); !shared { // there was no other owner
		b.over.Store(true)
		b.until = time.Time{}
	}
	return b
}

// lookAgain takes what is in backoff since a page was read. Readers that ask at
// the same time share a look that begins after all of them asked. It returns
// when that look succeeded, or with ctx.
func (o *outbox) lookAgain(ctx context.Context) {
	b := &o.begun
	if b.over.Load() && !o.now().Before(b.until) {
		return
	}
	next := b.looks.Load() + 1
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return
	}
	if b.looks.Load() >= next {
		return
	}
	b.looks.Add(1)
	o.loadRetrying(ctx)
}

// settleIn ends the beginning, unless ctx ends before.
func (o *outbox) settleIn(ctx context.Context) {
	o.begun.pages.Wait() // all of them end with ctx too
	if ctx.Err() != nil || o.begun.over.Swap(true) {
		return
	}
	for _, p := range o.pools {
		p.Wake(o.beginLabel())
	}
}

// beginLabel is what records wait for before the first delivery.
func (o *outbox) beginLabel() string { return "beginning of " + o.share.String() }
