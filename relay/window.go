package relay

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/relay/feed"
)

// headShare is the part of a window that a backlog may take up at most once it is
// settled.
const headShare = 5

// anchorCheck is how often a reader looks whether its listener stands where it
// should.
const anchorCheck = time.Second

// window is what a reader sees through one listener.
type window struct {
	reader     *reader
	listener   *listener
	generation int      // of the feed; at another one it was rewound
	limit      int      // how many documents the listener tells of at most
	began      Position // where the feed's cursor was when it was opened
	cursor     Position // where it should start, unless at the head of the lane
	from       Position // where it starts
	untaken    []Doc    // what it told of that is not taken, such as a commit that its edge cut through
	doubt      int      // how often what its stream tells is still to be completed
	bridge     *time.Timer
	every      time.Duration // how often bridge has a page read
}

func (r *reader) openWindow(ctx context.Context) *window {
	cursor, generation := r.intake.start()
	w := &window{reader: r, generation: generation, began: cursor, cursor: r.listenFrom(cursor), every: bridgeEvery}
	scan := r.scan
	scan.Limit, scan.Bytes = r.intake.windowBounds(r.window)
	w.limit, w.from = scan.Limit, r.anchor(scan.Limit, w.cursor, w.cursor)
	scan.After = w.from
	w.listener = r.outbox.startListener(ctx, scan, r.log)
	w.bridge = time.NewTimer(w.every)
	return w
}

// listen takes what a listener tells, until pages have to go on: because the
// feed was rewound, or its window stays full and hides what comes, or the
// window should start elsewhere. What it told of that was not taken by then is read.
func (r *reader) listen(ctx context.Context) (err error) {
	w := r.openWindow(ctx)
	defer w.listener.stop()
	defer w.bridge.Stop()
	defer func() { r.unread(w.untaken) }()
	check := time.NewTicker(anchorCheck)
	defer check.Stop()
	for on := true; on && err == nil; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-check.C:
			on = w.stands()
		case <-w.bridge.C:
			on, err = w.bridged(ctx)
		case <-r.intake.rewound:
			_, now := r.intake.start()
			on = now == w.generation
		case <-w.listener.ready:
			on, err = w.told(ctx)
		}
	}
	return err
}

// stands reports whether the window is where it should be, and not full. If so, what
// it shows tells how far the lane's backlog is settled.
func (w *window) stands() bool {
	r := w.reader
	fills := w.listener.full() || r.tooMuch(w.listener)
	if fills && !w.from.Zero() {
		r.filled(w.began)
	}
	if fills || r.anchor(w.limit, w.cursor, w.from) != w.from {
		return false
	}
	if now := r.outbox.now(); w.listener.toldAll() {
		r.intake.caughtUp(now)
	}
	r.settled(w.limit)
	return true
}

// bridged takes what pages show while the listener's stream opens. It reports false
// when the reader has to catch up.
func (w *window) bridged(ctx context.Context) (on bool, err error) {
	if !w.listener.blind() { // anchorCheck is soon enough for a stream that is replaced
		w.every = bridgeEvery
		w.bridge.Reset(anchorCheck)
		return true, nil
	}
	taken, on, err := w.reader.bridge(ctx, w.generation)
	if err != nil { // the stream that opens may have more luck
		w.reader.log.Debug("read outbox while its listener opens", zap.Error(err))
	} else if !on {
		return false, ctx.Err()
	}
	if w.every = min(2*w.every, bridgeMost); taken > 0 {
		w.every = bridgeEvery
	}
	w.bridge.Reset(w.every)
	return true, nil
}

// told takes what the listener tells. It reports false when the reader has to catch up.
func (w *window) told(ctx context.Context) (on bool, err error) {
	r := w.reader
	began := r.outbox.now()
	docs, full, opened := w.listener.take()
	docs = append(w.untaken, docs...)
	w.untaken = docs
	if large := w.listener.tooMuch(); large != nil {
		r.pageInstead(large, w.from)
		return false, nil
	}
	if opened {
		w.doubt = mostDoubts
	}
	reach := feed.Live
	var carry []Doc // a commit's records that the window's edge cut through
	switch {
	case full:
		reach = feed.Partly
		docs, carry, err = r.complete(ctx, docs)
	case w.doubt > 0:
		docs, w.doubt, err = r.whole(ctx, w.from, docs, w.doubt)
	}
	if w.untaken = append(docs, carry...); errors.Is(err, errBacklog) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if ok, err := r.take(ctx, r.news(ctx, docs), w.generation, reach); err != nil || !ok {
		return false, err
	}
	w.untaken = carry
	if !full {
		r.intake.caughtUp(began)
	}
	return true, nil
}

// listenFrom is where a window starts that does not start at the head of the lane: before
// the commit at the cursor, whose time others may have, or behind it if that alone fills a
// window. As long as its records wait for a target, such a window would hide what comes,
// and be read again each anchorCheck.
func (r *reader) listenFrom(cursor Position) Position {
	if cursor.ID != "" && cursor.At.Equal(r.fills) {
		return Position{At: cursor.At.Add(time.Microsecond)} // no createdAt is more exact; the canary stands there
	}
	return Position{At: cursor.At}
}

// filled notes that a window which starts at the cursor's commit holds too much, if
// nothing behind that was taken: the commit fills it.
func (r *reader) filled(cursor Position) {
	if now, _ := r.intake.start(); !cursor.Before(now) {
		r.fills = cursor.At
	}
}

// complete splits what a full window told into complete commits and the rest,
// which the window's edge may have cut through. When that is all there is, it
// reads the commit to its end; with an error it returns what it was given.
func (r *reader) complete(ctx context.Context, docs []Doc) (complete, carry []Doc, err error) {
	slices.SortFunc(docs, byPosition)
	complete, carry = cutLastGroup(docs)
	if len(complete) > 0 || len(carry) == 0 {
		return complete, carry, nil
	}
	at := carry[0].CreatedAt
	for after := (Position{At: at}); ; {
		if err := r.intake.waitRoom(ctx); err != nil {
			return carry, nil, err
		}
		page, full, err := r.page(ctx, after)
		if err != nil {
			return carry, nil, err
		}
		for _, d := range page {
			if !d.CreatedAt.Equal(at) {
				return complete, nil, nil
			}
			complete = append(complete, d)
		}
		if !full {
			return complete, nil, nil
		}
		after = page[len(page)-1].position()
	}
}

func byPosition(a, b Doc) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// unread sends the feed back to documents before its cursor that the listener
// told of and that were not taken: neither pages nor the next listener would
// tell of them again.
func (r *reader) unread(docs []Doc) {
	cursor, _ := r.intake.start()
	for _, d := range docs {
		if j, _ := r.outbox.ledger.judge(d, nil); j != feed.Known && !d.Canary() && !cursor.Before(d.position()) {
			r.intake.reread(d.position())
		}
	}
}

// pageInstead has pages read what a listener from anchor on was told too much of at
// once: they end by their bytes, and the feed learns from them how large its records
// are, before the next listener's window is chosen.
func (r *reader) pageInstead(large *TooMuchAtOnce, anchor Position) {
	r.log.Debug("records come at once that are large, reading pages", zap.Int("documents", large.Documents), zap.Int64("bytes", large.Bytes))
	r.intake.reread(anchor)
}

// tooMuch reports whether the documents in the listener's window take up more
// than their lane's memory, and a smaller window would hold fewer.
func (r *reader) tooMuch(l *listener) bool {
	n := l.shown()
	return ask(r.intake, func(f *feed.Feed) bool { return f.TooMuch(n, r.window) })
}

// anchor says where the listener's window should start, if it starts at now: at
// the head of the lane; or at the cursor, while records that are under way or
// behind gates would fill the window. The sweep then covers what is appended
// with an older createdAt. It goes to the head once a fifth of the window would
// hold all of them, as each change lets the server read the window again; and
// leaves it at three quarters, as a listener is dear to open.
func (r *reader) anchor(window int, cursor, now Position) Position {
	most := window / headShare
	if now.Zero() {
		most = window * 3 / 4
	}
	if r.intake.clog() <= most {
		return Position{}
	}
	return cursor
}
