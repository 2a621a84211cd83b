package relay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/relay/feed"
)

// drainLoop drains the gates of a feed until ctx ends.
func (r *reader) drainLoop(ctx context.Context) error {
	delay := r.outbox.tuning.retryDelay()
	for ctx.Err() == nil {
		if !ask(r.intake, (*feed.Feed).Drains) {
			select {
			case <-r.intake.drains:
			case <-ctx.Done():
			}
			continue
		}
		var wait <-chan struct{}
		err := r.outbox.guard.do(partDrain, func() (err error) { wait, err = r.drain(ctx); return err })
		if err != nil && ctx.Err() == nil {
			r.outbox.metrics.readErrors.WithLabelValues(r.outbox.spec.Name, string(r.intake.lane)).Inc()
			r.log.Warn("read back what waited for a target", zap.Error(err))
			delay.sleep(ctx)
			continue
		}
		delay.reset()
		if wait != nil {
			select {
			case <-wait:
			case <-time.After(staleRecheck):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// drain brings back a page. A channel says that it has to be read again once that is
// closed.
func (r *reader) drain(ctx context.Context) (wait <-chan struct{}, err error) {
	if err := r.intake.waitRoom(ctx); err != nil {
		return nil, err
	}
	page, ok := r.readBack()
	if !ok {
		return nil, nil
	}
	end := page.After
	defer func() { r.intake.ledger.step(feed.BackEnded{Gate: page.Gate, UpTo: end}) }()
	var docs []Doc
	var next Position
	err = r.outbox.pacers[r.intake.lane].page(ctx, func() (err error) {
		docs, next, err = r.drainPage(ctx, page.After, page.Limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", page.Target, err)
	}
	if wait, err = r.bringBack(ctx, page, docs); err == nil && wait == nil {
		end = next
	}
	return wait, err
}

func (r *reader) readBack() (feed.ReadBack, bool) {
	r.intake.ledger.mu.Lock()
	defer r.intake.ledger.mu.Unlock()
	return r.intake.feed.BeginBack()
}

// drainPage reads whole commits, the first after a position and at least limit
// documents if there are. end is the place behind them.
func (r *reader) drainPage(ctx context.Context, after Position, limit int) (docs []Doc, end Position, err error) {
	free, err := r.turn(ctx)
	if err != nil {
		return nil, Position{}, err
	}
	defer free()
	scan := r.scan
	scan.After, scan.Limit = after, r.intake.pageLimit(limit)
	for {
		r.outbox.metrics.pages.WithLabelValues(r.outbox.spec.Name, string(r.intake.lane)).Inc()
		page, err := r.outbox.store.Page(ctx, scan)
		if err != nil {
			return nil, Position{}, err
		}
		docs = append(docs, page...)
		if len(page) < scan.Limit || !scan.After.Before(page[len(page)-1].position()) {
			return docs, feed.EndOfTime, nil // or what has no time for its createdAt, at no place to read on from
		}
		scan.After = page[len(page)-1].position()
		if complete, _ := cutLastGroup(docs); len(complete) > 0 {
			return complete, complete[len(complete)-1].position(), nil
		}
	}
}

// bringBack takes those of docs into memory that were left behind the gate. A channel
// says that the page has to be read again, as what was read is older than what is
// being written: once the channel is closed, or after a while.
func (r *reader) bringBack(ctx context.Context, page feed.ReadBack, docs []Doc) (wait <-chan struct{}, err error) {
	back := feed.Back{Gate: page.Gate}
	var entries []*entry
	for _, d := range docs {
		if d.Canary() || page.Last.Before(d.position()) {
			continue
		}
		d, j, leaves := r.outbox.judge(ctx, d, r.intake)
		switch j {
		case feed.Leaving:
			return r.intake.ledger.left(leaves), nil
		case feed.Known:
			back.Known = append(back.Known, d.ID)
		case feed.Unknown, feed.Doubtful:
			entries = append(entries, r.outbox.newEntry(d, r.intake))
		}
	}
	slices.SortStableFunc(entries, byVersion)
	back.Records = records(entries)
	for {
		taken := r.intake.take(r.outbox, back)
		switch back.Records = back.Records[taken.Records:]; taken.Stopped {
		case feed.StoppedFull:
			if err := r.intake.waitRoom(ctx); err != nil {
				return nil, err
			}
		case feed.StoppedLeaving:
			if older := entryOf(taken.Behind); !r.outbox.lingers(older) {
				return r.intake.ledger.left(older), nil
			}
		case feed.StoppedStale:
			return make(chan struct{}), nil
		case feed.StoppedSubmit:
		case feed.NotStopped:
			return nil, nil
		}
	}
}

// staleRecheck is how long a page rests that was older than what was written, before
// it is read again.
const staleRecheck = time.Second
