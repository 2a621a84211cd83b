package lease

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// enter waits until the instance may own shares, and then registers it and takes what
// is free for it in one commit, by a look that was made meanwhile. It is a try: what
// does not succeed at once the loop does, one after the other. It ends with ctx; calls
// outlives that.
func (k *Keeper) enter(ctx, calls context.Context) {
	seen := make(chan view, 1) // closed without one if that could not be read
	k.aside.Go(func() {
		defer close(seen)
		calls, cancel := context.WithTimeout(calls, k.config.Term/callEvery)
		defer cancel()
		if docs, err := k.config.Store.Query(calls, allLeases); err == nil {
			seen <- newView(docs, k.config.Term)
		}
	})
	select {
	case <-k.config.Ready:
	case <-ctx.Done():
		return
	}
	select {
	case v, ok := <-seen:
		if ok && ctx.Err() == nil && time.Since(v.at) < k.config.Term/callEvery {
			k.enterBy(calls, v)
		}
	case <-ctx.Done():
	}
}

// enterBy does it by a view in which the instance is not.
func (k *Keeper) enterBy(ctx context.Context, v view) {
	before := v.registrationOf(k.name)
	if before.live() {
		return // of another of that name, or of one that crashed a moment ago
	}
	leases := k.takeable(v, plan(append(v.members(), k.newcomer(v)), v.owners()))
	nonce, sent := k.nonces.next()
	at, err := k.commit(ctx, append(k.takings(leases, nonce), k.registration(before.updated, nonce), ring(nonce))...)
	k.changes++
	if err != nil {
		if dlq.IsRefused(err) {
			k.metrics.count(eventRefused)
		}
		k.log.Info("register and take leases at once, going on one after the other", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		return
	}
	k.registered(at, sent)
	k.taken(leases, v.idle(), at, sent)
	k.adopt(v) // the bell, which this commit rang, asks for the next look
	k.lookAt, k.glanceAt = sent.Add(k.config.Term), sent.Add(k.config.Term/renewEvery)
	k.lookAtExpiry(v)
}

// newcomer is this instance as a member who comes last.
func (k *Keeper) newcomer(v view) member {
	me := member{id: k.name, shares: k.config.Shares}
	for _, m := range v.members() {
		if !m.since.Before(me.since) {
			me.since = m.since.Add(1)
		}
	}
	return me
}

// registrationOf is the one by that name; it does not exist if there is none.
func (v view) registrationOf(name string) registration {
	i := slices.IndexFunc(v.instances, func(r registration) bool { return r.instance == name })
	if i < 0 {
		return registration{}
	}
	return v.instances[i]
}
