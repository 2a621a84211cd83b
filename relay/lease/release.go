package lease

import (
	"context"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// releaseThrough releases the shares whose Work is through, so that the next
// owners need not wait for the leases to run out: in one commit, or one by one
// if that is refused. What is not released now is tried again.
func (k *Keeper) releaseThrough(ctx context.Context) {
	k.hearReturned()
	var due []*holding
	for _, h := range k.held {
		if h.done && !h.lost && !time.Now().Before(h.releaseAt) {
			h.releaseAt = time.Now().Add(k.retryPause())
			due = append(due, h)
		}
	}
	if len(due) == 0 {
		return
	}
	err := k.release(ctx, due...)
	if !dlq.IsRefused(err) {
		return
	}
	k.metrics.count(eventRefused)
	for _, h := range due {
		if len(due) == 1 || dlq.IsRefused(k.release(ctx, h)) {
			k.settleRelease(ctx, h)
		}
	}
}

// hearReturned takes in what returned until now: Work that was told to end at
// one time is released at one time.
func (k *Keeper) hearReturned() {
	for {
		select {
		case r := <-k.ended:
			k.through(r, k.work.Err() != nil)
		default:
			return
		}
	}
}

func (k *Keeper) release(ctx context.Context, holdings ...*holding) error {
	nonce, _ := k.nonces.next()
	var writes []dlq.Write
	for _, h := range holdings {
		writes = append(writes, h.last...)
		writes = append(writes, conditioned(h.id, h.updated, map[string]any{fieldOwner: "", fieldNonce: nonce, fieldRenewals: 0}))
	}
	if _, err := k.commit(ctx, append(writes, ring(nonce))...); err != nil {
		k.log.Warn("release leases, trying again", zap.Int("leases", len(holdings)), zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		return err
	}
	for _, h := range holdings {
		k.released(h)
	}
	return nil
}

// settleRelease reads a lease whose release was refused and finds out why.
func (k *Keeper) settleRelease(ctx context.Context, h *holding) {
	docs, err := k.get(ctx, []*claim{&h.claim}, k.config.Term/callEvery)
	if err != nil {
		k.log.Warn("read lease again", zap.String("share", h.id), zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		return
	}
	d := decodeLease(docs[0], k.config.Term)
	_, mine := k.nonces.mine(d.nonce)
	switch {
	case d.exists() && d.updated.Equal(h.updated):
		if h.last != nil { // it is not the lease that stands in the way
			h.last, h.releaseAt = nil, time.Now()
		}
	case d.exists() && mine && d.owner == "":
		k.released(h)
	case d.exists() && mine:
		h.updated, h.releaseAt = d.updated, time.Now() // a renewal of ours came late
	default:
		k.lose(h, d.owner)
	}
}

func (k *Keeper) released(h *holding) {
	k.drop(h)
	k.metrics.count(eventReleased)
	k.log.Info("lease released", zap.String("share", h.id), zap.Time("since", h.lease.Since()), zap.NamedError("why", h.told))
}
