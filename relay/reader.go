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
	window int // the listener's limit
	log    *zap.Logger
}

// freshness is how old a record must be for a cursor to pass it.
const freshness = 500 * time.Millisecond

// run reads until ctx ends.
func (r *reader) run(ctx context.Context) error {
	delay := newRetryDelay(r.outbox.tuning.ListenBackoff, r.outbox.tuning.ListenBackoffMax)
	for ctx.Err() == nil {
		err := r.catchUp(ctx)
		if err == nil {
			delay.reset()
			err = r.listen(ctx)
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
			return nil
		default:
			after = next
		}
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
	page, err := r.page(ctx, after)
	if err != nil {
		return batch{}, nil, Position{}, err
	}
	old := slices.DeleteFunc(slices.Clone(page), fresh)
	docs := append(carry, old...)
	if len(page) == r.outbox.tuning.PageSize && len(old) == len(page) {
		next = page[len(page)-1].position()
		docs, rest = cutLastGroup(docs)
	}
	return r.decode(docs), rest, next, nil
}

func (r *reader) page(ctx context.Context, after Position) ([]Doc, error) {
	scan := r.scan
	scan.After, scan.Limit = after, r.outbox.tuning.PageSize
	r.outbox.metrics.pages.WithLabelValues(r.outbox.spec.Name, string(r.feed.lane)).Inc()
	return r.outbox.store.Page(ctx, scan)
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

// batch is what is new of complete commits, decoded.
type batch struct {
	entries     []*entry // the records of an aggregate in the order of their versions
	end, cursor Position // of the last record, and of the last that is not fresh
	// A record that was about to leave memory: what was read of it is older than
	// what is being written. It has to be read again once left is closed.
	left   <-chan struct{}
	leftAt Position
}

// decode decodes what is new in docs, which are complete commits.
func (r *reader) decode(docs []Doc) batch {
	b := batch{entries: make([]*entry, 0, len(docs))}
	for _, d := range docs {
		if isCanary(d.ID) {
			continue
		}
		switch c, left := r.outbox.ledger.consider(d); c {
		case considerKnown:
		case considerWait:
			b.left, b.leftAt = left, d.position()
			return b
		case considerTake:
			b.entries = append(b.entries, r.outbox.newEntry(d, r.feed))
		}
		p := d.position()
		if b.end.before(p) {
			b.end = p
		}
		if b.cursor.before(p) && !fresh(d) {
			b.cursor = p
		}
	}
	slices.SortStableFunc(b.entries, byVersion)
	return b
}

// take admits a batch and moves the feed's cursor past what is not fresh of it.
// It blocks while the feed is full. It reports false when the feed was rewound
// underneath: what was not admitted will be read again.
func (r *reader) take(ctx context.Context, b batch, generation int) (bool, error) {
	if b.left != nil {
		select {
		case <-b.left:
			r.feed.rewind(b.leftAt)
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	if !r.feed.reading(b.end, generation) {
		return false, nil
	}
	for _, e := range b.entries {
		if err := r.feed.waitRoom(ctx); err != nil {
			return false, err
		}
		switch r.feed.admit(e, generation) {
		case outdated:
			return false, nil
		case admitted:
			r.outbox.submit(e)
		}
	}
	return r.feed.read(b.cursor, generation), nil
}

// byVersion orders records so that within each aggregate the versions ascend.
func byVersion(a, b *entry) int {
	switch {
	case a.rec.AggregateVersion != b.rec.AggregateVersion:
		if a.rec.AggregateVersion < b.rec.AggregateVersion {
			return -1
		}
		return 1
	default:
		return a.rec.CreatedAt.Compare(b.rec.CreatedAt)
	}
}

// anchorCheck is how often a reader looks whether its listener stands where it
// should.
const anchorCheck = time.Second

// listen takes what a listener tells, until pages have to go on: because the
// feed was rewound, or its window stays full and hides what comes, or the
// window should start elsewhere.
func (r *reader) listen(ctx context.Context) error {
	cursor, generation := r.feed.start()
	anchor := r.anchor(cursor)
	scan := r.scan
	scan.After, scan.Limit = anchor, r.window
	l := r.outbox.startListener(ctx, scan, r.log)
	defer l.stop()
	check := time.NewTicker(anchorCheck)
	defer check.Stop()
	var carry []Doc // a commit's records that the window's edge cut through
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-check.C:
			if l.full() || r.anchor(cursor) != anchor {
				r.unread(carry)
				return nil
			}
		case <-r.feed.rewound:
			if _, now := r.feed.start(); now != generation {
				return nil
			}
		case <-l.ready:
			docs, full := l.take()
			docs = append(carry, docs...)
			carry = nil
			if full {
				var err error
				if docs, carry, err = r.complete(ctx, docs); err != nil {
					return err
				}
			}
			b := r.decode(docs)
			if len(b.entries) > 0 {
				r.outbox.flows(r.feed.lane)
			}
			ok, err := r.take(ctx, b, generation)
			if err != nil || !ok {
				r.unread(append(docs, carry...))
				return err
			}
			if !full && !r.feed.setLive(generation) {
				return nil
			}
		}
	}
}

// complete splits what a full window told into complete commits and the rest,
// which the window's edge may have cut through. When that is all there is, it
// reads the commit to its end.
func (r *reader) complete(ctx context.Context, docs []Doc) (complete, carry []Doc, err error) {
	slices.SortFunc(docs, byPosition)
	complete, carry = cutLastGroup(docs)
	if len(complete) > 0 || len(carry) == 0 {
		return complete, carry, nil
	}
	at := carry[0].CreatedAt
	for after := (Position{At: at}); ; {
		if err := r.feed.waitRoom(ctx); err != nil {
			return nil, nil, err
		}
		page, err := r.page(ctx, after)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range page {
			if !d.CreatedAt.Equal(at) {
				return complete, nil, nil
			}
			complete = append(complete, d)
		}
		if len(page) < r.outbox.tuning.PageSize {
			return complete, nil, nil
		}
		after = page[len(page)-1].position()
	}
}

func byPosition(a, b Doc) int {
	switch {
	case a.position().before(b.position()):
		return -1
	case b.position().before(a.position()):
		return 1
	}
	return 0
}

// unread sends the feed back to documents before its cursor that the listener
// told of and that were not taken: neither pages nor the next listener would
// tell of them again.
func (r *reader) unread(docs []Doc) {
	cursor, _ := r.feed.start()
	for _, d := range docs {
		if c, _ := r.outbox.ledger.consider(d); c != considerKnown && !isCanary(d.ID) && !cursor.before(d.position()) {
			r.feed.rewind(d.position())
		}
	}
}

// anchor says where the listener's window should start: at the head of the
// lane; or at the cursor, while records that are under way or behind gates
// would fill half of the window. The sweep then covers what is appended with an
// older createdAt.
func (r *reader) anchor(cursor Position) Position {
	if r.feed.clog() <= r.window/2 {
		return Position{}
	}
	return Position{At: cursor.At}
}
