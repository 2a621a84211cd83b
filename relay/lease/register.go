package lease

import (
	"context"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// register makes the registration, so that the instance takes part in the plan.
// What another left behind under its name is replaced. While another lives
// under it, the instance goes by a longer name.
func (k *Keeper) register(ctx context.Context) {
	k.registerAt = time.Now().Add(k.retryPause())
	var updated time.Time // of what is replaced
	for range 3 {
		nonce, sent := k.nonces.next()
		id := registrationPrefix + k.name
		at, err := k.commit(ctx, k.registration(updated, nonce), ring(nonce))
		if err == nil {
			k.registered(at, sent)
			k.lookBy(time.Now())
			return
		}
		if !dlq.IsRefused(err) {
			k.log.Warn("register instance, trying again", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
			return
		}
		docs, err := k.get(ctx, []*claim{{id: id}}, k.config.Term/callEvery)
		if err != nil {
			k.log.Warn("read registration, trying again", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
			return
		}
		there := decodeRegistration(docs[0], k.config.Term)
		sent, mine := k.nonces.mine(there.nonce)
		switch {
		case mine && there.exists() && !sent.IsZero():
			k.registered(there.updated, sent)
			k.lookBy(time.Now())
			return
		case mine || !there.live():
			updated = there.updated
		default:
			updated = time.Time{}
			k.rename()
		}
	}
}

// rename gives the instance a name that nobody else goes by.
func (k *Keeper) rename() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.name = k.config.Instance + "~" + k.nonces.run[:8]
	k.log.Warn("another live instance goes by this name, taking a longer one", zap.String("name", k.name))
}

// registration is the write that makes it, in the place of one that stood at updated.
func (k *Keeper) registration(updated time.Time, nonce string) dlq.Write {
	return conditioned(registrationPrefix+k.name, updated, map[string]any{
		fieldKind: kindInstance, fieldInstance: k.name, fieldSince: dlq.ServerTime{}, fieldNonce: nonce,
		fieldTerm: k.config.Term.Milliseconds(), fieldStopping: k.stopping, fieldRevision: k.config.Revision, fieldShares: k.config.Shares,
	})
}

// registered notes that the registration stood at updated, by a write that was sent at sent.
func (k *Keeper) registered(updated, sent time.Time) {
	id := registrationPrefix + k.name
	me := &claim{id: id, updated: updated, lease: newLease(id, updated, k.epoch)}
	me.lease.trust(sent.Add(validFor(k.config.Term)))
	k.setMe(me)
	k.renewAt = sent.Add(k.config.Term / renewEvery)
	k.log.Info("instance registered", zap.String("name", k.name))
}

func (k *Keeper) setMe(me *claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.me = me
}
