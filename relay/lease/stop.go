package lease

import (
	"context"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// stop ends all Work at the same time and releases each share as it is through.
// Firestore may be out of reach meanwhile: all of it ends by then.
func (k *Keeper) stop(ctx context.Context, by time.Time) {
	began := time.Now()
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	for _, h := range k.held {
		k.tell(h, ErrStopping)
	}
	k.stopping, k.renewAt = true, time.Now() // the next renewal takes the instance out of the plan
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		k.noticeLapses()
		if !time.Now().Before(k.renewAt) {
			k.renew(ctx)
		}
		if k.releaseThrough(ctx); len(k.held) == 0 {
			break
		}
		timer.Reset(time.Until(k.nextOfStop()))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case r := <-k.ended:
			k.through(r, true)
		}
	}
	k.unregister(ctx)
	for share, h := range k.held {
		k.log.Warn("stop budget is used up, leaving the lease to run out", zap.String("share", share), zap.Bool("workEnded", h.done))
	}
	k.log.Info("keeper stopped", zap.Duration("took", time.Since(began)))
}

func (k *Keeper) nextOfStop() time.Time {
	next := k.renewAt
	for _, h := range k.held {
		if h.done && !h.lost && h.releaseAt.Before(next) {
			next = h.releaseAt
		}
	}
	return next
}

// unregister deletes the registration, unless another goes by its name.
func (k *Keeper) unregister(ctx context.Context) {
	for k.me != nil {
		tried := k.me.updated
		nonce, _ := k.nonces.next()
		_, err := k.commit(ctx, dlq.Write{Collection: contracts.CollectionLeases, ID: k.me.id, Op: dlq.OpDelete, IfUnchangedSince: k.me.updated}, ring(nonce))
		switch {
		case err == nil:
			k.setMe(nil)
		case dlq.IsRefused(err):
			if len(k.reconcile(ctx, []*claim{k.me}, k.config.Term/callEvery)) > 0 {
				return // nothing that is known helps; it runs out by itself
			}
			if k.me != nil && k.me.updated.Equal(tried) { // it could not be read
				sleep(ctx, k.retryPause())
			}
		default:
			k.log.Warn("delete registration", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
			sleep(ctx, k.retryPause())
		}
		if ctx.Err() != nil {
			return
		}
	}
}
