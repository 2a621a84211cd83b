package lease

import (
	"context"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// view is all leases and registrations as of one moment.
type view struct {
	leases    map[string]leaseDoc
	instances []registration
	outline   string    // see bell
	at        time.Time // local time at which it was there
}

// sighting is the answer of a look.
type sighting struct {
	view    view
	changes int // the keeper's own, when the look began
	err     error
}

// look reads all documents, beside the loop: a read that hangs holds up no
// renewal.
func (k *Keeper) look(ctx context.Context) {
	k.looking = true
	k.lookAt = time.Now().Add(k.config.Term / renewEvery) // unless something asks for it sooner, even meanwhile
	changes := k.changes
	k.aside.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, k.config.Term/callEvery)
		defer cancel()
		docs, err := k.config.Store.Query(ctx, allLeases)
		v := newView(docs, k.config.Term)
		v.outline = outline(docs)
		k.views <- sighting{v, changes, err} // has room: one look at a time
	})
}

func newView(docs []dlq.Doc, term time.Duration) view {
	v := view{leases: make(map[string]leaseDoc), at: time.Now()}
	for _, d := range docs {
		if isRegistration(d.ID) {
			v.instances = append(v.instances, decodeRegistration(d, term))
		} else {
			v.leases[d.ID] = decodeLease(d, term)
		}
	}
	return v
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
	case s.err != nil:
		k.log.Warn("look at leases, trying again", zap.String("reason", contracts.CodeOf(s.err)), zap.Error(s.err))
		k.lookBy(time.Now().Add(k.retryPause()))
		return
	case s.changes != k.changes: // it may show as another's, or as free, what is ours by now
		k.lookBy(time.Now())
		return
	}
	switch {
	case k.view.outline != s.view.outline:
		k.outlined = s.view.at
	case s.view.at.Sub(k.outlined) >= k.config.Term/renewEvery:
		k.bell.missed(s.view.outline)
	}
	k.mu.Lock()
	k.view = s.view
	k.mu.Unlock()
	if at, some := s.view.expiry(k.nonces); some {
		k.lookBy(at)
	}
	k.act(ctx, s.view)
}

// lookBy has the next look begin at a moment, unless it does so before.
func (k *Keeper) lookBy(at time.Time) {
	if at.Before(k.lookAt) {
		k.lookAt = at
	}
}
