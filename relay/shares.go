package relay

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
	"outboxrelay/relay/lease"
)

// shares are the outboxes, or shards of such, whose work is done here now.
type shares struct {
	mu  sync.RWMutex
	all []*outbox
}

func (s *shares) add(o *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(slices.Clip(s.all), o)
}

func (s *shares) remove(o *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(slices.Clone(s.all), func(each *outbox) bool { return each == o })
}

// list returns a slice that nobody changes.
func (s *shares) list() []*outbox {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all
}

// of returns the one that does a share's work; nil: it is not done here.
func (s *shares) of(share contracts.Share) *outbox {
	for _, o := range s.list() {
		if o.share == share {
			return o
		}
	}
	return nil
}

// work does a share's work until ctx ends and nothing of it goes on. It returns
// what is to be written when the share is given back.
func (r *Relay) work(ctx context.Context, share string, g grant) []Write {
	if share == lease.Queue {
		return r.lead(ctx)
	}
	i := slices.IndexFunc(r.catalog.Shares(), func(s contracts.Share) bool { return s.String() == share })
	o := r.newOutbox(r.catalog.Shares()[i], g)
	if !r.takeUp(ctx, o) {
		return nil
	}
	defer r.shares.remove(o) // also if it panics: whoever asks for the share must not find this one
	if err := o.run(ctx); err != nil && ctx.Err() == nil {
		o.log.Error("reading ended", zap.Error(err))
	}
	return r.retire(ctx, o)
}

// lead lets this instance do what only one may, until ctx ends.
func (r *Relay) lead(ctx context.Context) []Write {
	r.leads.Store(true)
	defer r.leads.Store(false)
	r.ring(dlq.BellBulk, dlq.BellAlerts, dlq.BellFreezes)
	<-ctx.Done()
	return nil
}

// Leads reports whether this instance does for the dead-letter queue what only
// one may.
func (r *Relay) Leads() bool { return r.leads.Load() }

func (r *Relay) ring(bells ...dlq.Bell) {
	if r.queue == nil {
		return
	}
	for _, bell := range bells {
		r.queue.Ring(bell)
	}
}

// takeUp begins an outbox, once what is frozen is known: the owner before may
// have frozen an aggregate in its last moment, unless that was before they were read
// last. It reports false when ctx ended.
func (r *Relay) takeUp(ctx context.Context, o *outbox) bool {
	if r.shared && r.queue != nil && !r.freezes.known(o.begun.until) {
		r.takeUps.look(ctx, o.grant.Since(), r.followFreezes().load)
	}
	if ctx.Err() != nil {
		return false
	}
	r.freezes.join(o)
	r.shares.add(o)
	r.ring(dlq.BellReplays) // its due replays are ours now
	return true
}

// retire ends an outbox whose readers have ended: what is queued stays in
// Firestore, what is in delivery comes to its end, replays as well, and what became
// of it is written. That is bounded; what is still out then is delivered again by the
// next owner, or known to it already.
func (r *Relay) retire(ctx context.Context, o *outbox) []Write {
	o.retires.Store(true)
	for _, s := range r.settlers {
		s.hurry(true)
		defer s.hurry(false)
	}
	bound := time.NewTimer(time.Duration(deliveryShare * float64(r.tuning.StopBudget)))
	defer bound.Stop()
	check := time.NewTicker(retireCheck)
	defer check.Stop()
	o.pins.end()
	left := 0
	for waiting := true; waiting; {
		left += r.giveBack(o)
		if o.ledger.quiet() && o.pins.left() == 0 {
			break
		}
		select {
		case <-check.C:
		case <-bound.C:
			o.log.Warn("gave the outbox back with deliveries or writes still out", zap.Int("inMemory", o.ledger.size()), zap.Int("replays", o.pins.left()))
			waiting = false
		}
	}
	for _, in := range o.intakes {
		in.memory.giveAll(in)
	}
	r.shares.remove(o)
	r.freezes.part(o)
	o.log.Info("outbox given back", zap.NamedError("because", context.Cause(ctx)), zap.Int("leftInFirestore", left))
	if errors.Is(context.Cause(ctx), lease.ErrLost) {
		return nil
	}
	var last []Write
	for _, s := range o.scans() {
		last = append(last, canaryFor(s).removal())
	}
	return last
}

// retireCheck is how often a retiring outbox looks whether it is through.
const retireCheck = 5 * time.Millisecond

// giveBack takes what is queued of an outbox out of the lanes, to stay in
// Firestore, and returns how many records that were.
func (r *Relay) giveBack(o *outbox) (records int) {
	ours := func(t *lanes.Task) bool {
		switch w := t.Work.(type) {
		case *entry:
			return w.outbox == o
		case *replay:
			return w.share == o.share
		}
		return false
	}
	for _, p := range r.pools {
		for _, t := range p.WithdrawAll(ours) {
			switch w := t.Work.(type) {
			case *entry:
				w.giveBack()
				records++
			case *replay:
				w.finish(dlq.Round{}, errElsewhere)
			}
		}
	}
	return records
}

// giveBack takes a record that is in no lane out of memory. Which targets have
// it is written first, so that the next owner does not deliver it to them again.
func (e *entry) giveBack() {
	a := e.outbox.ledger.becomes(feed.GivenBack{Record: &e.Record, Unsaved: e.unsaved && e.Origin != feed.Stray})
	e.outbox.left(e, a)
}
