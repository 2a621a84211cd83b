package replayer

import (
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

// replay carries out one round of the replay of an item that was due when it
// was listed. What comes before it is asked for last, so that nothing comes to
// stand there while it waits.
func (r *Replayer) replay(ctx context.Context, listed *dlq.Item) outcome {
	release, ok := r.lanes.Pin(listed)
	if !ok {
		return outcome{fate: fateUnknown}
	}
	defer release()
	item, f := r.fresh(ctx, listed)
	if item == nil {
		return outcome{fate: f}
	}
	round, err := r.lanes.Replay(ctx, item)
	log := r.log.With(zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID))
	out := outcome{fate: fateBlocked, tried: true, answered: round.Acked, blocked: round.Blocked}
	for _, failed := range round.Failed {
		out.answered = append(slices.Clone(out.answered), failed.Target)
	}
	switch {
	case err != nil:
		if ctx.Err() == nil {
			log.Warn("replay dead letter", zap.Error(err))
		}
		out.fate = fateUnknown
	case len(round.Failed) == 0 && len(round.Blocked) > 0:
		if len(round.Acked) > 0 {
			r.progress(ctx, item, round, log)
		}
	default:
		out.fate = r.end(ctx, item, dlq.Result{Acked: round.Acked, Errors: round.Failed, Missing: round.Missing, At: r.queue.Now()}, log)
	}
	return out
}

// fresh reads an item again and judges whether it is its turn. It returns nil,
// and what became of it, when it is not to be replayed now.
func (r *Replayer) fresh(ctx context.Context, listed *dlq.Item) (*dlq.Item, fate) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	item, err := r.queue.Item(ctx, listed.ID)
	if err != nil {
		return nil, r.unread(ctx, listed, "read due dead letter", err)
	}
	if _, ok := dlq.Next(item.Place(), dlq.Delivered); !ok || item.Tier != r.tier || !item.Due(r.queue.Now()) {
		r.log.Debug("a due dead letter was changed meanwhile", zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID))
		return nil, fateDropped
	}
	older, err := r.queue.Before(ctx, item)
	switch {
	case err != nil:
		return nil, r.unread(ctx, item, "find what comes before a dead letter", err)
	case older != nil:
		return nil, r.deferTo(ctx, item, older)
	}
	return item, ""
}

func (r *Replayer) unread(ctx context.Context, item *dlq.Item, what string, err error) fate {
	if dlq.AsRefusal(err) != nil {
		return fateDropped
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		r.log.Warn(what, zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID), zap.Error(err))
	}
	return fateUnknown
}

// deferTo moves an item's time, because an older one comes first.
func (r *Replayer) deferTo(ctx context.Context, item, older *dlq.Item) fate {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	if err := r.queue.Defer(ctx, item, turn(r.queue.Now(), item, older), older.ID); err != nil {
		return r.unread(ctx, item, "defer dead letter", err)
	}
	return fateBehind
}

// progress notes what a round reached that an outage stopped. Where that fails,
// those targets get the record once more.
func (r *Replayer) progress(ctx context.Context, item *dlq.Item, round dlq.Round, log *zap.Logger) {
	ctx, stop := sibling.Lingering(ctx, r.cfg.Grace)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	if err := r.queue.Progress(ctx, item, round); err != nil && dlq.AsRefusal(err) == nil {
		log.Warn("note progress of a replay", zap.Error(err))
	}
}

// end notes how a replay ended. The record was delivered, or its failures
// count: so it is tried until Firestore answers, and for a grace beyond the
// stop. An item that was changed underneath is none of ours any more.
func (r *Replayer) end(ctx context.Context, item *dlq.Item, result dlq.Result, log *zap.Logger) fate {
	ctx, stop := sibling.Lingering(ctx, r.cfg.Grace)
	defer stop()
	delay := sibling.NewPatience(r.cfg.RetryMin, r.cfg.RetryMax)
	for {
		c, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
		after, err := r.queue.End(c, item, result)
		cancel()
		switch {
		case err == nil:
			return endedAs(item, after, result)
		case dlq.AsRefusal(err) != nil:
			log.Debug("a replayed dead letter was changed meanwhile", zap.Error(err))
			return fateDropped
		case dlq.IsRefused(err): // the same will never be taken
			log.Error("note how a replay ended", zap.Error(err))
			return fateUnknown
		}
		log.Warn("note how a replay ended", zap.Error(err))
		if !sibling.Rest(ctx, delay.Next()) {
			return fateUnknown
		}
	}
}

func endedAs(before, after *dlq.Item, r dlq.Result) fate {
	switch {
	case len(r.Errors) == 0:
		return fateDelivered
	case after.Tier != before.Tier:
		return fateExhausted
	}
	return fateFailed
}
