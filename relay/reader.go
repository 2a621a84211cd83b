package relay

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
)

// reader brings the records of one feed into memory, in order. It reads pages
// by cursor while the lane is behind (one read for each record, no window to
// refill) and listens once it has caught up. Both stop while the feed has no
// room, so memory is bounded whatever the backlog.
//
// Pages leave what was appended within the last moment to the listener. A
// server timestamp has milliseconds and is taken before its commit, so among
// the newest records one may still appear before others that were read. A
// cursor must not pass that place; a listener's snapshot shows it.
type reader struct {
	outbox *outbox
	feed   *feed
	scan   Scan
	window int // the listener's limit, unless its records are large
	log    *zap.Logger
	behind bool   // a backlog is read, or what was read of it is not settled yet
	begun  func() // tells that the first page is there
}

// freshness is how old a record must be for a cursor to pass it.
const freshness = 500 * time.Millisecond

// run reads until ctx ends.
func (r *reader) run(ctx context.Context) error {
	defer r.begun()
	defer r.fallBehind(false)
	delay := newRetryDelay(r.outbox.tuning.ListenBackoff, r.outbox.tuning.ListenBackoffMax)
	for ctx.Err() == nil {
		err := r.outbox.guard.do(partReader, func() error { return r.catchUp(ctx) })
		if err == nil {
			delay.reset()
			err = r.outbox.guard.do(partReader, func() error { return r.listen(ctx) })
		}
		if err != nil && ctx.Err() == nil {
			r.outbox.metrics.readErrors.WithLabelValues(r.outbox.spec.Name, string(r.feed.lane)).Inc()
			r.log.Warn("read outbox", zap.Error(err))
			delay.sleep(ctx)
		}
	}
	return nil
}

// catchUp reads pages from the feed's cursor until it comes to fresh records or
// to the end.
func (r *reader) catchUp(ctx context.Context) error {
	var carry []Doc // a commit's records that the page's edge cut through
	after, generation := r.feed.start()
	for {
		if err := r.feed.waitRoom(ctx); err != nil {
			return err
		}
		var b batch
		var next Position
		err := r.outbox.pacers[r.feed.lane].page(ctx, func() (err error) {
			b, carry, next, err = r.readPage(ctx, after, carry)
			return err
		})
		if err != nil {
			return err
		}
		switch ok, err := r.take(ctx, b, generation); {
		case err != nil:
			return err
		case !ok: // rewound
			carry = nil
			after, generation = r.feed.start()
		case next.Zero():
			r.feed.setThrough(generation)
			return nil
		default: // a full page: this is a backlog
			after = next
			r.fallBehind(true)
		}
	}
}

// fallBehind tells the lane's settler whether this outbox works off a backlog.
func (r *reader) fallBehind(behind bool) {
	if behind == r.behind {
		return
	}
	r.behind = behind
	if settler := r.outbox.settlers[r.feed.lane]; behind {
		settler.behind.Add(1)
	} else {
		settler.behind.Add(-1)
	}
}

// readPage reads and decodes one page, behind what was carried over from the
// one before. next is zero when pages have come to their end. As raw documents
// take several times the memory of what remains of them, few pages of a lane
// are in work at once.
func (r *reader) readPage(ctx context.Context, after Position, carry []Doc) (b batch, rest []Doc, next Position, err error) {
	slots := r.outbox.pageSlots[r.feed.lane]
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return batch{}, nil, Position{}, ctx.Err()
	}
	page, full, err := r.page(ctx, after)
	if ctx.Err() == nil {
		r.outbox.health.listener(r.scan).paged(r.outbox.now(), err)
	}
	if err != nil {
		return batch{}, nil, Position{}, err
	}
	old := slices.DeleteFunc(slices.Clone(page), fresh)
	docs := append(carry, old...)
	if full && len(old) == len(page) {
		next = page[len(page)-1].position()
		docs, rest = cutLastGroup(docs)
	}
	b = r.decode(ctx, docs)
	r.begun()
	return b, rest, next, nil
}

// page reads a page, and reports whether there may be more behind it. What came
// into backoff before it was read is in memory then.
func (r *reader) page(ctx context.Context, after Position) (page []Doc, full bool, err error) {
	scan := r.scan
	scan.After, scan.Limit = after, r.feed.pageLimit(r.outbox.tuning.PageSize)
	r.outbox.metrics.pages.WithLabelValues(r.outbox.spec.Name, string(r.feed.lane)).Inc()
	if page, err = r.outbox.store.Page(ctx, scan); err != nil {
		return nil, false, err
	}
	r.outbox.lookAgain(ctx)
	return page, len(page) >= scan.Limit, nil
}

// fresh reports whether a record may still appear before d.
func fresh(d Doc) bool { return d.CreatedAt.After(d.ReadTime.Add(-freshness)) }

// cutLastGroup splits docs before the records that share the last createdAt:
// the page's edge may have cut through one commit, whose records are only in
// order once all of them are there.
func cutLastGroup(docs []Doc) (complete, cut []Doc) {
	if len(docs) == 0 {
		return nil, nil
	}
	last := docs[len(docs)-1].CreatedAt
	i := len(docs)
	for i > 0 && docs[i-1].CreatedAt.Equal(last) {
		i--
	}
	return docs[:i], slices.Clone(docs[i:])
}
