package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// beginning is the time from the take-over of an outbox to its first delivery.
//
// The owner before may be late, or the process before where no lease says who owns: a
// retry mark of it that is applied between a look at the records in backoff and a page
// of pending ones moves a record from the one to the other behind our back, and younger
// ones of its aggregate would be delivered before it. So those in backoff are looked at
// after a page was read and before anything of it is taken, for as long as such a mark
// may come; and nothing is delivered before each lane's first page is there, also of
// what comes as strays.
type beginning struct {
	over  *atomic.Bool
	pages *sync.WaitGroup // lanes whose first page is not there yet

	until  time.Time // from then on no write of the owner before comes any more; it may have passed
	looks  *joint
	looked *atomic.Bool // a look that began then has succeeded
}

// newBeginning makes one that began at began. What the owner before wrote last is
// applied within that long after.
func newBeginning(lanes int, began time.Time, within time.Duration) beginning {
	b := beginning{
		over: new(atomic.Bool), pages: new(sync.WaitGroup), until: began.Add(within), looks: newJoint(), looked: new(atomic.Bool),
	}
	b.pages.Add(lanes)
	return b
}

// lookAgain takes what is in backoff since a page was read, unless a mark could not
// come any more when it was taken last. Readers that ask at the same time share a look.
// It returns when that succeeded, or with ctx.
func (o *outbox) lookAgain(ctx context.Context) {
	b := &o.begun
	if b.looked.Load() {
		return
	}
	b.looks.do(ctx, func() bool {
		if b.looked.Load() {
			return true
		}
		last := !o.now().Before(b.until)
		o.loadRetrying(ctx)
		if last && ctx.Err() == nil {
			b.looked.Store(true)
		}
		return ctx.Err() == nil
	})
}

// lookEarly has what is in backoff looked at beside the first pages, if no mark of
// another owner can come any more.
func (o *outbox) lookEarly(ctx context.Context, g *errgroup.Group) {
	if !o.now().Before(o.begun.until) {
		g.Go(func() error { o.kept(ctx, partReader, o.lookAgain); return nil })
	}
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
