package dlq

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"
)

// replay carries out one round of the replay of an item that was due when it
// was listed. What comes before it is asked for last, so that nothing comes to
// stand there while it waits.
func (x *executor) replay(ctx context.Context, listed *Item) outcome {
	item, f := x.fresh(ctx, listed)
	if item == nil {
		return outcome{fate: f}
	}
	round, err := x.lanes.Replay(ctx, item)
	log := x.log.With(zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID))
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
			x.progress(ctx, item, round, log)
		}
	default:
		out.fate = x.end(ctx, item, Result{Acked: round.Acked, Errors: round.Failed, Missing: round.Missing, At: x.queue.moment()}, log)
	}
	return out
}

// Reachability is what Lanes may tell besides, at no cost: whether a round of
// the item's replay would deliver to any target now. It is asked before anything
// is read, of the item without its record. One that would not takes nothing of
// the rate of automatic replays, which others can use.
type Reachability interface {
	Reachable(item *Item) bool
}

func (x *executor) reachable(item *Item) bool {
	r, ok := x.lanes.(Reachability)
	return !ok || r.Reachable(item)
}

// fresh reads an item again and judges whether it is its turn. It returns nil,
// and what became of it, when it is not to be replayed now.
func (x *executor) fresh(ctx context.Context, listed *Item) (*Item, fate) {
	ctx, cancel := context.WithTimeout(ctx, x.cfg.CallBound)
	defer cancel()
	item, err := x.queue.Item(ctx, listed.ID)
	if err != nil {
		return nil, x.unread(ctx, listed, "read due dead letter", err)
	}
	if _, ok := Next(item.Place(), Delivered); !ok || item.Tier != x.tier || !item.Due(x.queue.now()) {
		x.log.Debug("a due dead letter was changed meanwhile", zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID))
		return nil, fateDropped
	}
	older, err := x.queue.older(ctx, item, 1)
	switch {
	case err != nil:
		return nil, x.unread(ctx, item, "find what comes before a dead letter", err)
	case len(older) > 0:
		return nil, x.deferTo(ctx, item, turn(x.queue.now(), item, older[0]))
	}
	return item, ""
}

func (x *executor) unread(ctx context.Context, item *Item, what string, err error) fate {
	if refusal(err) != nil {
		return fateDropped
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		x.log.Warn(what, zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID), zap.Error(err))
	}
	return fateUnknown
}

// deferTo moves an item's time, because something else comes first.
func (x *executor) deferTo(ctx context.Context, item *Item, until time.Time) fate {
	ctx, cancel := context.WithTimeout(ctx, x.cfg.CallBound)
	defer cancel()
	if err := x.queue.Defer(ctx, item, until); err != nil {
		return x.unread(ctx, item, "defer dead letter", err)
	}
	return fateBehind
}

// progress notes what a round reached that an outage stopped. Where that fails,
// those targets get the record once more.
func (x *executor) progress(ctx context.Context, item *Item, round Round, log *zap.Logger) {
	ctx, stop := lingering(ctx, x.cfg.Grace)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, x.cfg.CallBound)
	defer cancel()
	if err := x.queue.Progress(ctx, item, round); err != nil && refusal(err) == nil {
		log.Warn("note progress of a replay", zap.Error(err))
	}
}

// end notes how a replay ended. The record was delivered, or its failures
// count: so it is tried until Firestore answers, and for a grace beyond the
// stop. An item that was changed underneath is none of ours any more.
func (x *executor) end(ctx context.Context, item *Item, r Result, log *zap.Logger) fate {
	ctx, stop := lingering(ctx, x.cfg.Grace)
	defer stop()
	delay := newPatience(x.cfg.RetryMin, x.cfg.RetryMax)
	for {
		c, cancel := context.WithTimeout(ctx, x.cfg.CallBound)
		after, err := x.queue.End(c, item, r)
		cancel()
		switch {
		case err == nil:
			return endedAs(item, after, r)
		case refusal(err) != nil:
			log.Debug("a replayed dead letter was changed meanwhile", zap.Error(err))
			return fateDropped
		case isRefused(err): // the same will never be taken
			log.Error("note how a replay ended", zap.Error(err))
			return fateUnknown
		}
		log.Warn("note how a replay ended", zap.Error(err))
		if !rest(ctx, delay.next()) {
			return fateUnknown
		}
	}
}

func endedAs(before, after *Item, r Result) fate {
	switch {
	case len(r.Errors) == 0:
		return fateDelivered
	case after.Tier != before.Tier:
		return fateExhausted
	}
	return fateFailed
}
