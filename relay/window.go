package relay

import (
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

// listen takes what a listener tells, until pages have to go on: because the
// feed was rewound, or its window stays full and hides what comes, or the
// window should start elsewhere.
func (r *reader) listen(ctx context.Context) error {
	cursor, generation := r.intake.start()
	atCursor := r.listenFrom(cursor)
	limit, bytes := r.intake.windowBounds(r.window)
	anchor := r.anchor(limit, atCursor, atCursor)
	scan := r.scan
	scan.After, scan.Limit, scan.Bytes = anchor, limit, bytes
	l := r.outbox.startListener(ctx, scan, r.log)
	defer l.stop()
	check := time.NewTicker(anchorCheck)
	defer check.Stop()
	every := bridgeEvery
	bridge := time.NewTimer(every)
	defer bridge.Stop()
	var carry []Doc // a commit's records that the window's edge cut through
	doubt := 0      // how often what the stream tells is still to be completed
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-check.C:
			fills := l.full() || r.tooMuch(l)
			if fills && !anchor.Zero() {
				r.filled(cursor)
			}
			if fills || r.anchor(limit, atCursor, anchor) != anchor {
				r.unread(carry)
				return nil
			}
			if now := r.outbox.now(); l.toldAll() {
				r.intake.caughtUp(now)
			}
			r.settled(limit)
		case <-bridge.C:
			if !l.blind() { // anchorCheck is soon enough for a stream that is replaced
				every = bridgeEvery
				bridge.Reset(anchorCheck)
				continue
			}
			taken, on, err := r.bridge(ctx, generation)
			if err != nil { // the stream that opens may have more luck
				r.log.Debug("read outbox while its listener opens", zap.Error(err))
			} else if !on {
				r.unread(carry)
				return ctx.Err()
			}
			if every = min(2*every, bridgeMost); taken > 0 {
				every = bridgeEvery
			}
			bridge.Reset(every)
		case <-r.intake.rewound:
			if _, now := r.intake.start(); now != generation {
				return nil
			}
		case <-l.ready:
			began := r.outbox.now()
			docs, full, opened := l.take()
			docs = append(carry, docs...)
			carry = nil
			if large := l.tooMuch(); large != nil {
				r.unread(docs)
				r.pageInstead(large, anchor)
				return nil
			}
			if opened {
				doubt = doubts
			}
			if doubt > 0 && !full {
				var err error
				if docs, doubt, err = r.whole(ctx, docs, doubt); err != nil {
					r.unread(docs)
					if errors.Is(err, errBacklog) {
						return nil
					}
					return err
				}
			}
			if full {
				var err error
				if docs, carry, err = r.complete(ctx, docs); err != nil {
					return err
				}
			}
			b := r.decode(ctx, docs)
			if len(b.entries) > 0 {
				r.outbox.flows(r.intake.lane)
			}
			reach := feed.Partly
			if !full {
				reach = feed.Live
			}
			if ok, err := r.take(ctx, b, generation, reach); err != nil || !ok {
				r.unread(append(docs, carry...))
				return err
			}
			if !full {
				r.intake.caughtUp(began)
			}
		}
	}
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
// reads the commit to its end.
func (r *reader) complete(ctx context.Context, docs []Doc) (complete, carry []Doc, err error) {
	slices.SortFunc(docs, byPosition)
	complete, carry = cutLastGroup(docs)
	if len(complete) > 0 || len(carry) == 0 {
		return complete, carry, nil
	}
	at := carry[0].CreatedAt
	for after := (Position{At: at}); ; {
		if err := r.intake.waitRoom(ctx); err != nil {
			return nil, nil, err
		}
		page, full, err := r.page(ctx, after)
		if err != nil {
			return nil, nil, err
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
	switch {
	case a.position().Before(b.position()):
		return -1
	case b.position().Before(a.position()):
		return 1
	}
	return 0
}

// unread sends the feed back to documents before its cursor that the listener
// told of and that were not taken: neither pages nor the next listener would
// tell of them again.
func (r *reader) unread(docs []Doc) {
	cursor, _ := r.intake.start()
	for _, d := range docs {
		if j, _ := r.outbox.ledger.judge(d, nil); j != feed.Known && !isCanary(d) && !cursor.Before(d.position()) {
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
