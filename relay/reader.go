package relay

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/relay/feed"
)

// reader brings the records of one feed into memory, in order. It reads pages
// by cursor while the lane is behind (one read for each record, no window to
// refill), polls pages while its outbox still works off a backlog, and listens once
// that is settled. All of them stop while the feed has no
// room, so memory is bounded whatever the backlog.
//
// Pages leave what was appended within the last moment to the listener, see
// feed.Sight.
type reader struct {
	outbox *outbox
	intake *intake
	scan   Scan
	window int // the listener's limit, unless its records are large
	log    *zap.Logger
	behind bool          // a backlog is read, or what was read of it is not settled yet
	begun  func()        // tells that the first page is there
	looked func()        // tells that the first backlog was read, if there was one
	late   bool          // its lane is read once records are seen in it
	took   time.Duration // its last page
	fills  time.Time     // createdAt of a commit that fills a window, see listenFrom
}

// run reads until ctx ends, from when its lane is to be read.
func (r *reader) run(ctx context.Context) error {
	defer r.begun()
	if r.late {
		select {
		case <-r.intake.open:
			r.outbox.backlog.begins()
		case <-ctx.Done():
			return nil
		}
	}
	defer r.looked()
	defer r.fallBehind(false)
	delay := r.outbox.tuning.retryDelay()
	for ctx.Err() == nil {
		err := r.outbox.guard.do(partReader, func() error { return r.round(ctx, delay) })
		if err != nil && ctx.Err() == nil {
			r.outbox.metrics.readErrors.WithLabelValues(r.outbox.spec.Name, string(r.intake.lane)).Inc()
			r.log.Warn("read outbox", zap.Error(err))
			delay.sleep(ctx)
		}
	}
	return nil
}

// round catches up, and then follows what comes until it has to catch up again.
func (r *reader) round(ctx context.Context, delay *retryDelay) error {
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.looked()
	delay.reset()
	if listen, err := r.poll(ctx); err != nil || !listen {
		return err
	}
	return r.listen(ctx)
}

// catchUp reads pages from the feed's cursor until it comes to fresh records or
// to the end.
func (r *reader) catchUp(ctx context.Context) error {
	r.outbox.backlog.begins()
	defer r.outbox.backlog.ends()
	var carry []Doc // a commit's records that the page's edge cut through
	after, generation := r.intake.start()
	state := r.outbox.health.listener(r.scan)
	for {
		if !ask(r.intake, (*feed.Feed).Room) { // as records in backoff, which are taken first, take it up
			state.closed()
		}
		if err := r.intake.waitRoom(ctx); err != nil {
			return err
		}
		var b batch
		var next Position
		began := r.outbox.now()
		err := r.outbox.pacers[r.intake.lane].page(ctx, func() (err error) {
			b, carry, next, err = r.readPage(ctx, after, carry)
			return err
		})
		if err != nil {
			return err
		}
		reach := feed.Partly
		if next.Zero() {
			reach = feed.Through
		}
		if len(b.entries) > 0 { // they may have to wait for room, and no listener opens before they are taken
			state.closed()
		}
		switch ok, err := r.take(ctx, b, generation, reach); {
		case err != nil:
			return err
		case !ok: // rewound
			carry = nil
			after, generation = r.intake.start()
		case reach == feed.Through:
			r.intake.caughtUp(began)
			return nil
		default: // a full page: this is a backlog
			after = next
			r.fallBehind(true)
		}
	}
}

// fallBehind tells the lane's settler, and the outbox, whether the lane works off a
// backlog.
func (r *reader) fallBehind(behind bool) {
	if behind == r.behind {
		return
	}
	r.behind = behind
	if settler := r.outbox.settlers[r.intake.lane]; behind {
		settler.behind.Add(1)
		r.outbox.backlog.begins()
	} else {
		settler.behind.Add(-1)
		r.outbox.backlog.ends()
	}
}

// readPage reads and decodes one page, behind what was carried over from the
// one before. next is zero when pages have come to their end. As raw documents
// take memory besides what remains of them, one page of a lane's backlogs is in work
// at a time, small ones apart.
func (r *reader) readPage(ctx context.Context, after Position, carry []Doc) (b batch, rest []Doc, next Position, err error) {
	free := func() {}
	defer func() { free() }()
	if r.behind {
		if free, err = r.turn(ctx); err != nil {
			return batch{}, nil, Position{}, err
		}
	}
	page, full, err := r.fetch(ctx, after)
	if err == nil {
		if small(page) {
			free()
		} else if !r.behind {
			if free, err = r.turn(ctx); err != nil {
				return batch{}, nil, Position{}, err
			}
		}
		r.outbox.lookAgain(ctx)
	}
	if ctx.Err() == nil {
		r.outbox.health.listener(r.scan).paged(r.outbox.now(), err)
	}
	if err != nil {
		return batch{}, nil, Position{}, err
	}
	r.sized(page)
	read := len(page)
	page = slices.DeleteFunc(page, fresh)
	// What has no time for its createdAt comes last, at no place to read on from.
	if full && len(page) == read && after.Before(page[read-1].position()) {
		next = page[read-1].position()
		if page, rest = cutLastGroup(page); len(page) == 0 {
			carry, rest = cutLastGroup(append(carry, rest...))
		}
	}
	b = r.decode(ctx, carry, page)
	r.begun()
	return b, rest, next, nil
}

// turn waits for the turn of the lane's next page, and returns what ends it. A page
// of a backlog waits before it is read; the first one of an outbox, which is the way of
// what waits when the relay starts, only before it is decoded. None waits for longer than
// turnPatience: an outbox whose page hangs does not hold up the lane of the others.
func (r *reader) turn(ctx context.Context) (end func(), err error) {
	slots := r.outbox.pageSlots[r.intake.lane]
	enough := time.NewTimer(turnPatience)
	defer enough.Stop()
	select {
	case slots <- struct{}{}:
		return sync.OnceFunc(func() { <-slots }), nil
	case <-enough.C:
		return func() {}, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// turnPatience is some times what the pages of a catalog's outboxes take together.
const turnPatience = time.Second

// page reads a page, and reports whether there may be more behind it. What came
// into backoff before it was read is in memory then.
func (r *reader) page(ctx context.Context, after Position) (page []Doc, full bool, err error) {
	if page, full, err = r.fetch(ctx, after); err == nil {
		r.outbox.lookAgain(ctx)
	}
	return page, full, err
}

// smallPage is what a page takes up at most, in bytes, that other pages need not
// wait for.
const smallPage = 64 << 10

// small reports whether a page is known to take up little.
func small(page []Doc) bool {
	size := 0
	for _, d := range page {
		if d.Size == 0 {
			return false // its store does not tell
		}
		size += d.Size
	}
	return size <= smallPage
}

// fetch reads a page, and nothing else.
func (r *reader) fetch(ctx context.Context, after Position) (page []Doc, full bool, err error) {
	scan := r.scan
	scan.After = after
	scan.Limit, scan.Bytes = r.intake.pageBounds(r.outbox.tuning.PageSize)
	r.outbox.metrics.pages.WithLabelValues(r.outbox.spec.Name, string(r.intake.lane)).Inc()
	began := r.outbox.now()
	if page, err = r.outbox.store.Page(ctx, scan); err != nil {
		return nil, false, err
	}
	r.took = r.outbox.now().Sub(began)
	return page, len(page) >= scan.Limit || len(page) > 0 && page[len(page)-1].More, nil
}

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
