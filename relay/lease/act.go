package lease

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// act does what the plan asks of this instance.
func (k *Keeper) act(ctx context.Context, v view) {
	members := v.members()
	if !slices.ContainsFunc(members, func(m member) bool { return m.id == k.name }) {
		return // renewing the registration comes first
	}
	planned := plan(members, v.owners())
	for share, h := range k.held {
		if to := planned[share]; to != k.name && h.told == nil {
			k.log.Info("handing over share", zap.String("share", share), zap.String("to", to), zap.Time("since", h.lease.Since()))
			k.tell(h, ErrHandOver)
		}
	}
	k.take(ctx, v.idle(), k.takeable(v, planned))
	k.freeStrays(ctx, v, planned)
	k.bury(ctx, v)
}

// takeable are the leases to take: planned for this instance, and free, run
// out, or left of an earlier commit of its own whose answer was lost.
func (k *Keeper) takeable(v view, planned map[string]string) []leaseDoc {
	var out []leaseDoc
	for _, share := range k.shares {
		if planned[share] != k.name || k.held[share] != nil {
			continue
		}
		if pause := k.pauses[share]; time.Now().Before(pause) {
			k.lookBy(pause)
			continue
		}
		d, exists := v.leases[share]
		if !exists {
			d.share = share
		}
		if _, mine := k.nonces.mine(d.nonce); mine || d.free() {
			out = append(out, d)
		}
	}
	return out
}

// take takes leases in one commit, or one by one if that is refused: until a renewal is
// due, which those that are held do not outlast where Firestore is slow. A look brings
// the rest.
func (k *Keeper) take(ctx context.Context, idle time.Duration, leases []leaseDoc) {
	if len(leases) == 0 {
		return
	}
	err := k.takeTogether(ctx, idle, leases)
	if dlq.IsRefused(err) && len(leases) > 1 {
		for i, d := range leases {
			if i > 0 && !time.Now().Before(k.renewAt) {
				break
			}
			if one := k.takeTogether(ctx, idle, []leaseDoc{d}); one != nil {
				err = one
			}
		}
	}
	switch {
	case err == nil:
	case dlq.IsRefused(err):
		k.metrics.count(eventRefused)
		k.log.Info("another was quicker to take a lease", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		k.lookBy(time.Now().Add(collisionPause))
	default: // a look will tell whether it was applied
		k.log.Warn("take leases, trying again", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		k.lookBy(time.Now().Add(k.retryPause()))
	}
}

func (k *Keeper) takeTogether(ctx context.Context, idle time.Duration, leases []leaseDoc) error {
	nonce, sent := k.nonces.next()
	at, err := k.commit(ctx, append(k.takings(leases, nonce), ring(nonce))...)
	k.changes++
	if err != nil {
		return err
	}
	k.taken(leases, idle, at, sent)
	return nil
}

// takings are the writes that take leases.
func (k *Keeper) takings(leases []leaseDoc, nonce string) []dlq.Write {
	writes := make([]dlq.Write, len(leases), len(leases)+2) // for what goes along
	for i, d := range leases {
		writes[i] = conditioned(d.share, d.updated, map[string]any{
			fieldKind: kindLease, fieldShare: d.share, fieldOwner: k.name, fieldNonce: nonce, fieldSince: dlq.ServerTime{},
			fieldTerm: k.config.Term.Milliseconds(), fieldRenewals: 0, fieldNote: "",
		})
	}
	return writes
}

// taken begins the shares whose leases were taken at at, by a commit that was sent at sent.
func (k *Keeper) taken(leases []leaseDoc, idle time.Duration, at, sent time.Time) {
	for _, d := range leases {
		from := d.owner // whose lease had run out
		if _, mine := k.nonces.mine(d.nonce); mine {
			from = "" // taken before, by a commit whose answer was lost
		}
		k.log.Info("lease taken", zap.String("share", d.share), zap.String("from", from), zap.Duration("age", d.age()))
		k.begin(d.share, idle, at, sent)
	}
}

// freeStrays releases leases that an earlier commit of this instance took, whose
// answer was lost, and that are planned for another by now.
func (k *Keeper) freeStrays(ctx context.Context, v view, planned map[string]string) {
	for share, d := range v.leases {
		if _, mine := k.nonces.mine(d.nonce); !mine || d.owner == "" || k.held[share] != nil || planned[share] == k.name {
			continue
		}
		nonce, _ := k.nonces.next()
		if _, err := k.commit(ctx, conditioned(share, d.updated, map[string]any{fieldOwner: "", fieldNonce: nonce}), ring(nonce)); err != nil {
			if dlq.IsRefused(err) {
				k.metrics.count(eventRefused)
			}
			k.log.Warn("release lease that is not used", zap.String("share", share), zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		}
	}
}

// Registrations of instances that crashed are kept for so many terms, for
// operators to see, and deleted a few at a time by the owner of Queue.
const (
	buriedAfter = 10
	buriedMost  = 20
)

func (k *Keeper) bury(ctx context.Context, v view) {
	if h := k.held[Queue]; h == nil || !h.lease.Valid() {
		return
	}
	var writes []dlq.Write
	for _, r := range v.instances {
		if r.age() >= buriedAfter*r.term && len(writes) < buriedMost {
			writes = append(writes, dlq.Write{
				Collection: contracts.CollectionLeases, ID: registrationPrefix + r.instance, Op: dlq.OpDelete, IfUnchangedSince: r.updated,
			})
		}
	}
	if len(writes) == 0 {
		return
	}
	if _, err := k.commit(ctx, writes...); err != nil {
		k.log.Warn("delete registrations of instances that are gone", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
	}
}
