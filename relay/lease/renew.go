package lease

import (
	"context"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// renew renews the registration and all leases in one commit. When that fails,
// it reads what became of them: a commit whose answer did not come in time may
// have been applied, and when Firestore is slow each of them is. After a refusal
// those that are as they were are renewed without the others, so that none stands
// in another's way.
func (k *Keeper) renew(ctx context.Context) {
	claims := k.renewable()
	k.renewAt = time.Now().Add(k.config.Term / renewEvery)
	if len(claims) == 0 {
		return
	}
	err := k.renewTogether(ctx, claims)
	if err == nil {
		return
	}
	k.renewAt = time.Now().Add(k.retryPause())
	k.log.Warn("renew leases, trying again", zap.Int("documents", len(claims)), zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
	if !dlq.IsRefused(err) {
		k.reconcile(ctx, claims, k.retryPause())
		return
	}
	k.metrics.count(eventRefused)
	k.renewRest(ctx, k.reconcile(ctx, claims, k.config.Term/callEvery), len(claims))
}

// renewRest renews what is left of so many claims after a refusal: in one commit, as many
// that are slow would outlast the leases of the last, or one by one if none of them
// was found to have stood in the way, or that is refused as well.
func (k *Keeper) renewRest(ctx context.Context, rest []*claim, of int) {
	if len(rest) > 1 && len(rest) < of {
		err := k.renewTogether(ctx, rest)
		if err == nil {
			return
		}
		k.log.Warn("renew the other leases, trying again", zap.Int("documents", len(rest)), zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		if !dlq.IsRefused(err) {
			return
		}
	}
	for _, c := range rest {
		if err := k.renewTogether(ctx, []*claim{c}); err != nil {
			k.log.Warn("renew lease alone, trying again", zap.String("document", c.id), zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		}
	}
}

// renewable are the claims to renew. Work that takes too long to end does not
// keep its lease for it.
func (k *Keeper) renewable() []*claim {
	var claims []*claim
	if k.me != nil {
		claims = append(claims, k.me)
	}
	for _, h := range k.held {
		if h.lost || h.done || h.told != nil && time.Now().After(h.until) {
			continue
		}
		claims = append(claims, &h.claim)
	}
	return claims
}

func (k *Keeper) renewTogether(ctx context.Context, claims []*claim) error {
	nonce, sent := k.nonces.next()
	writes := make([]dlq.Write, 0, len(claims)+1)
	for _, c := range claims {
		fields := map[string]any{fieldNonce: nonce, fieldTerm: k.config.Term.Milliseconds()}
		if c == k.me {
			fields[fieldStopping] = k.stopping
		} else {
			fields[fieldOwner], fields[fieldRenewals] = k.name, c.renewals+1
			if k.config.Note != nil {
				fields[fieldNote] = k.config.Note(c.id)
			}
		}
		writes = append(writes, conditioned(c.id, c.updated, fields))
	}
	if k.stopping { // which takes the instance out of the plan
		writes = append(writes, ring(nonce))
	}
	at, err := k.commit(ctx, writes...)
	k.metrics.renewals.Observe(time.Since(sent).Seconds())
	if err != nil {
		return err
	}
	for _, c := range claims {
		k.renewed(c, at, sent)
	}
	return nil
}

// renewed notes that a claim stood at updated, by a write that was sent at sent.
func (k *Keeper) renewed(c *claim, updated, sent time.Time) {
	c.updated = updated
	c.renewals++
	if c != k.me {
		k.metrics.count(eventRenewed)
	}
	if sent.IsZero() {
		return // so long ago that it says nothing of now
	}
	c.lease.trust(sent.Add(validFor(k.config.Term)))
	if c.lapsed && c.lease.Valid() {
		c.lapsed = false
		k.metrics.recover(c.id)
		k.log.Info("lease renewed after it had lapsed: nobody had it in between", zap.String("share", c.id))
	}
}

// reconcile reads claims whose renewal failed, within so long. Those that an
// earlier commit of ours renewed are noted, those that another has are lost, and
// those that are as they were are returned.
func (k *Keeper) reconcile(ctx context.Context, claims []*claim, within time.Duration) (unchanged []*claim) {
	docs, err := k.get(ctx, claims, within)
	if err != nil {
		k.log.Warn("read leases again", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		return nil
	}
	for i, c := range claims {
		d := decodeLease(docs[i], k.config.Term)
		sent, mine := k.nonces.mine(d.nonce)
		switch {
		case d.exists() && d.updated.Equal(c.updated):
			unchanged = append(unchanged, c)
		case d.exists() && mine:
			k.renewed(c, d.updated, sent)
			k.renewAt = time.Now()
		case c == k.me:
			k.setMe(nil) // deleted, or another goes by our name: register again
			k.registerAt = time.Now()
		default:
			k.lose(k.held[c.id], d.owner)
		}
	}
	return unchanged
}

func (k *Keeper) get(ctx context.Context, claims []*claim, within time.Duration) ([]dlq.Doc, error) {
	k.config.Beat()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ids := make([]string, len(claims))
	for i, c := range claims {
		ids[i] = c.id
	}
	return k.config.Store.Get(ctx, contracts.CollectionLeases, ids...)
}
