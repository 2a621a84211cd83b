package lease

import (
	"context"
	"math"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// view is all leases and registrations as of one moment.
type view struct {
	leases    map[string]leaseDoc
	instances []registration
	rung      string    // the bell's nonce
	at        time.Time // local time at which it was there
}

// sighting is the answer of a look, or of a glance.
type sighting struct {
	same    bool // by the bell, and nothing else was read
	view    view
	changes int // the keeper's own, when the look began
	err     error
}

// look reads all documents, beside the loop: a read that hangs holds up no
// renewal. When that is not due yet it is a glance at the bell, and reads the others
// only if that was rung since.
func (k *Keeper) look(ctx context.Context) {
	k.looking = true
	now, glance := time.Now(), ""
	if now.Before(k.lookAt) {
		glance = k.view.rung
	} else {
		k.lookAt = now.Add(k.config.Term) // unless something asks for it sooner, even meanwhile
	}
	k.glanceAt = now.Add(k.config.Term / renewEvery)
	changes := k.changes
	k.aside.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, k.config.Term/callEvery)
		defer cancel()
		if glance != "" {
			if docs, err := k.config.Store.Get(ctx, contracts.CollectionLeases, bellID); err == nil && rungBy(docs) == glance {
				k.views <- sighting{same: true} // has room: one look at a time
				return
			}
		}
		docs, err := k.config.Store.Query(ctx, allLeases)
		k.views <- sighting{view: newView(docs, k.config.Term), changes: changes, err: err}
	})
}

func newView(docs []dlq.Doc, term time.Duration) view {
	v := view{leases: make(map[string]leaseDoc), rung: rungBy(docs), at: time.Now()}
	for _, d := range docs {
		switch {
		case isRegistration(d.ID):
			v.instances = append(v.instances, decodeRegistration(d, term))
		case d.ID != bellID:
			v.leases[d.ID] = decodeLease(d, term)
		}
	}
	return v
}

// idle is for how long nobody owned anything, by any name: an outbox may have had
// other shares before. It is as long as can be if nobody ever did.
func (v view) idle() time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, d := range v.leases {
		least = min(least, d.idle())
	}
	return least
}

// members are the instances that take part in a plan.
func (v view) members() []member {
	var out []member
	for _, r := range v.instances {
		if r.present() {
			out = append(out, member{id: r.instance, since: r.since, shares: r.shares})
		}
	}
	return out
}

// owners are those whose leases stand.
func (v view) owners() map[string]string {
	out := make(map[string]string, len(v.leases))
	for share, d := range v.leases {
		if !d.free() {
			out[share] = d.owner
		}
	}
	return out
}

// expiry is when the first of what stands now runs out, unless it is renewed,
// on the local clock. What of that is not ours is worth a look then.
func (v view) expiry(n *nonces) (at time.Time, some bool) {
	first := func(d document) {
		if _, mine := n.mine(d.nonce); mine || !d.live() {
			return
		}
		if end := v.at.Add(max(d.term-d.age(), time.Millisecond)); !some || end.Before(at) {
			at, some = end, true
		}
	}
	for _, r := range v.instances {
		first(r.document)
	}
	for _, d := range v.leases {
		if d.owner != "" {
			first(d.document)
		}
	}
	return at, some
}

// see takes in the answer of a look and acts on it.
func (k *Keeper) see(ctx context.Context, s sighting) {
	k.looking = false
	switch {
	case s.same:
		k.listenAgain(time.Now())
		return
	case s.err != nil:
		k.came(s.err)
		k.log.Warn("look at leases, trying again", zap.String("reason", contracts.CodeOf(s.err)), zap.Error(s.err))
		k.lookBy(time.Now().Add(k.retryPause()))
		return
	case s.changes != k.changes: // it may show as another's, or as free, what is ours by now
		k.lookBy(time.Now())
		return
	}
	k.adopt(s.view)
	k.listenAgain(s.view.at)
	k.lookAtExpiry(s.view)
	k.act(ctx, s.view)
}

// adopt makes v what is known.
func (k *Keeper) adopt(v view) {
	if k.view.rung != v.rung {
		k.rungAt = v.at
	}
	k.mu.Lock()
	k.view = v
	k.mu.Unlock()
}

// lookAtExpiry has a look begin when the first of what others have in v runs out.
func (k *Keeper) lookAtExpiry(v view) {
	if at, some := v.expiry(k.nonces); some {
		k.lookBy(at)
	}
}

// listenAgain has the bell's listener rebuilt that has not told of what was seen a
// while ago.
func (k *Keeper) listenAgain(now time.Time) {
	if now.Sub(k.rungAt) >= k.config.Term/renewEvery {
		k.bell.missed(k.view.rung)
	}
}

// lookBy has the next look begin at a moment, unless it does so before.
func (k *Keeper) lookBy(at time.Time) {
	if at.Before(k.lookAt) {
		k.lookAt = at
	}
}
