package lease

import (
	"context"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// claim is a document that the keeper renews: a lease that it owns, or its
// registration.
type claim struct {
	id       string
	updated  time.Time // as known last; every write is conditioned on it
	renewals int64
	lease    *Lease
	lapsed   bool // noticed
}

// holding is a share that the keeper owns, and its Work. It is held until its
// Work is through and its lease released, or known to be lost.
type holding struct {
	claim
	cancel context.CancelCauseFunc
	told   error     // why its Work was told to end; nil: it was not
	until  time.Time // the lease is not renewed any longer for Work that was told to end
	lost   bool

	done      bool        // its Work returned
	last      []dlq.Write // what it gave for the release
	releaseAt time.Time
}

// returned is a Work that came to its end.
type returned struct {
	holding *holding
	writes  []dlq.Write
}

// begin owns a share that was taken, and starts its Work.
func (k *Keeper) begin(share string, idle time.Duration, updated, sent time.Time) {
	ctx, cancel := context.WithCancelCause(k.work)
	h := &holding{
		claim:  claim{id: share, updated: updated, lease: newLease(share, updated, k.epoch)},
		cancel: cancel,
	}
	h.lease.idle = idle
	h.lease.trust(sent.Add(validFor(k.config.Term)))
	k.mu.Lock()
	k.held[share] = h
	k.mu.Unlock()
	k.metrics.hold(share, updated)
	k.metrics.count(eventTaken)
	go func() { k.ended <- returned{h, k.guarded(ctx, h.lease)} }() // ends with Work; ended has room for all
}

// guarded does the Work. A panic of it is an early end.
func (k *Keeper) guarded(ctx context.Context, l *Lease) (writes []dlq.Write) {
	defer func() {
		if p := recover(); p != nil {
			k.log.Error("work of share panicked", zap.String("share", l.Share()), zap.String("panic", contracts.PanicText(p)), zap.ByteString("stack", debug.Stack()))
		}
	}()
	return k.config.Work(ctx, l)
}

// tell tells a share's Work to end, unless it was told before.
func (k *Keeper) tell(h *holding, why error) {
	if h.told != nil {
		return
	}
	k.mu.Lock()
	h.told = why
	k.mu.Unlock()
	h.until = time.Now().Add(k.config.StopBudget)
	h.cancel(why)
}

// lose gives up a share that another owns.
func (k *Keeper) lose(h *holding, owner string) {
	h.lease.end()
	k.mu.Lock()
	h.lost = true
	k.mu.Unlock()
	k.tell(h, ErrLost)
	k.metrics.count(eventLost)
	k.metrics.leave(h.id)
	k.log.Warn("lease lost", zap.String("share", h.id), zap.String("owner", owner), zap.Time("since", h.lease.Since()))
	k.lookBy(time.Now())
	if h.done {
		k.drop(h)
	}
}

// through hears that a share's Work returned.
func (k *Keeper) through(r returned, stopping bool) {
	h := r.holding
	if h.told == nil && stopping {
		k.tell(h, ErrStopping)
	}
	if h.told == nil {
		k.log.Error("work of share ended by itself, taking it again after a pause", zap.String("share", h.id))
		k.pauses[h.id] = time.Now().Add(k.config.Term / renewEvery)
		k.tell(h, ErrHandOver)
	}
	h.lease.end() // its release may be applied although the answer is lost
	k.mu.Lock()
	h.done = true
	k.mu.Unlock()
	h.last = r.writes
	if h.lost {
		k.drop(h)
	}
}

// drop forgets a share that is not owned any more and whose Work is through.
func (k *Keeper) drop(h *holding) {
	h.lease.end()
	k.mu.Lock()
	delete(k.held, h.id)
	k.mu.Unlock()
	k.metrics.leave(h.id)
	k.changes++
	k.lookBy(time.Now())
}

// noticeLapses counts and logs the leases that lapsed.
func (k *Keeper) noticeLapses() {
	for _, h := range k.held {
		if h.lapsed || h.lost || h.done || h.lease.Valid() {
			continue
		}
		h.lapsed = true
		k.metrics.lapse(h.id)
		k.log.Warn("lease lapsed: nothing of the share is begun until it is renewed", zap.String("share", h.id), zap.Time("since", h.lease.Since()))
	}
}
