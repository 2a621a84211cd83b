package replayer

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

// tell notes on those of a line that somebody asked for what they wait for: the first for
// those of its targets that are left alone, the others for the first. It is written once,
// as long as it is the same. What nobody asked for nobody waits for.
func (d *duty) tell(ctx context.Context, l *line, now time.Time) {
	for n, w := range l.items {
		waits := dlq.WaitsForTargets(d.parked.among(w.targets, now))
		if n > 0 {
			waits = dlq.Waits{Behind: l.items[0].item.ID}
		}
		item := w.item
		if item.Replaying == nil || !waits.Tells() || waits.Equal(w.told) || waits.Equal(item.Replaying.Waits) {
			continue
		}
		w.told = waits
		d.group.Go(func() error {
			return sibling.Guarded(func() error { d.hold(ctx, item, waits); return nil })
		})
	}
}

// among lists those of the targets that are parked.
func (p *parking) among(targets []string, now time.Time) (out []string) {
	for _, t := range targets {
		if c := p.targets[t]; c != nil && c.until.After(now) {
			out = append(out, t)
		}
	}
	return slices.Clip(out)
}

// notesAtOnce bounds the notes under way: each reads its whole dead letter, of up to 1 MiB,
// and a target that goes out has one for each replay that was asked for.
const notesAtOnce = 16

// hold notes what an item that somebody asked for waits for. Where that fails, the item
// says nothing of it until a look shows it again.
func (r *Replayer) hold(ctx context.Context, item *dlq.Item, w dlq.Waits) {
	select {
	case r.notes <- struct{}{}:
		defer func() { <-r.notes }()
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	if err := r.queue.Hold(ctx, item, w); err != nil && dlq.AsRefusal(err) == nil && ctx.Err() == nil {
		r.log.Warn("note what a replay waits for", zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID), zap.Error(err))
	}
}
