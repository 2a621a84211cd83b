package replayer

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

const (
	// duePage bounds the dead letters that one look reads.
	duePage = 500
	// overlap is how far looks go back behind what was seen, and how long they need
	// not do so again: what comes to be due at the same time is not written in the
	// order of its times.
	overlap = 250 * time.Millisecond
	// settles is how long something may still come to stand before what was seen.
	settles = 5 * time.Second
)

// looking is how far the looks have come. Most of them begin where the one before
// ended, as what is due was read and is known. Now and then they go through all of
// it again.
type looking struct {
	owned     []string // outboxes, at the last look
	elsewhere map[contracts.Share]*dlq.Item

	walk     walk
	midway   bool         // there are pages left
	at       dlq.DueAfter // where the next page begins
	seen     dlq.DueAfter // the last that any page showed
	wentBack time.Time
	owed     bool   // nothing went back behind seen yet
	refilled string // the group for which a walk goes back
	read     int    // on the walk through all
	all      cadence

	askedSeen time.Time
	allAsked  cadence
}

// walk is where looks go.
type walk int

const (
	walkOn   walk = iota // on from what was seen
	walkAll              // through all that is due
	walkBack             // to where a group was passed over, which has room again
)

func newLooking() *looking { return &looking{elsewhere: make(map[contracts.Share]*dlq.Item)} }

// cadence spaces looks at everything by what they cost: so many dead letters a
// second are read again, however many there are.
type cadence struct {
	due     time.Time
	skipped bool // a look since did not show everything
}

const (
	againEach  = 100 * time.Millisecond // one dead letter
	againLeast = 2 * time.Second
	againMost  = 10 * time.Minute
)

func (c *cadence) done(now time.Time, read int) {
	c.due, c.skipped = now, false
	if read > 0 {
		c.due = now.Add(min(max(time.Duration(read)*againEach, againLeast), againMost))
	}
}

// lookAround reads what came to be due, first what somebody asked for. It returns
// how long to wait until the next look.
func (d *duty) lookAround(ctx context.Context) time.Duration {
	c, cancel := context.WithTimeout(ctx, d.cfg.CallBound)
	defer cancel()
	d.changeHands()
	err := d.lookForAsked(c)
	var more bool
	var next time.Time
	if err == nil {
		more, next, err = d.lookForDue(c)
	}
	if err != nil {
		if ctx.Err() == nil {
			d.cfg.Metrics.failures.WithLabelValues(string(d.tier)).Inc()
			d.log.Warn("look for due dead letters", zap.Error(err))
		}
		return d.delay.Next()
	}
	d.delay.Reset()
	if more {
		return gap
	}
	wait := d.cfg.Poll
	for _, c := range []*cadence{&d.look.all, &d.look.allAsked} {
		if c.skipped {
			wait = min(wait, c.due.Sub(d.looked))
		}
	}
	if d.look.owed {
		wait = min(wait, overlap)
	}
	if now := d.queue.Now(); !next.IsZero() {
		wait = min(wait, next.Sub(now))
	}
	return max(wait, gap)
}

// changeHands looks through everything again when work came to this instance.
func (d *duty) changeHands() {
	l := d.look
	owned := slices.Sorted(slices.Values(d.lanes.Owned()))
	changed := !slices.Equal(owned, l.owned)
	for share, item := range l.elsewhere {
		if d.lanes.Owns(item) {
			delete(l.elsewhere, share)
			changed = true
		}
	}
	l.owned = owned
	if changed {
		d.lookAtAll()
		l.askedSeen = time.Time{}
	}
}

// lookAtAll begins a walk through all that is due.
func (d *duty) lookAtAll() {
	l := d.look
	l.walk, l.midway, l.at, l.read = walkAll, true, dlq.DueAfter{}, 0
	clear(d.backlog.passed)
}

// lookForAsked reads what somebody asked for since the last look.
func (d *duty) lookForAsked(ctx context.Context) error {
	l := d.look
	if !d.someUnasked() {
		return nil
	}
	since := l.askedSeen.Add(-overlap)
	all := l.askedSeen.IsZero() || !d.looked.Before(l.allAsked.due)
	if all {
		since = time.Time{}
	}
	items, err := d.queue.Asked(ctx, d.tier, l.owned, since, duePage)
	if err != nil {
		return err
	}
	l.allAsked.skipped = true
	if all {
		l.allAsked.done(d.looked, len(items))
	}
	if len(items) > 0 {
		l.askedSeen = items[0].Replaying.At
	}
	for _, i := range items {
		d.meet(i)
	}
	return nil
}

// lookForDue reads a page of what is due. more tells that there is another; next is
// when something comes to be due.
func (d *duty) lookForDue(ctx context.Context) (more bool, next time.Time, err error) {
	l := d.look
	if !l.midway {
		d.setOut()
	}
	page, err := d.queue.Due(ctx, d.tier, l.owned, l.at, duePage)
	if err != nil {
		return false, time.Time{}, err
	}
	l.at = page.At
	l.read += page.Read
	full := false // what stands behind a group that is full again was looked at before
	for _, i := range page.Items {
		if !d.meet(i) && l.walk == walkBack && l.refilled == group(i, d.backlog.targetsOf(i)) {
			full = true
		}
	}
	if l.seen.Before(l.at) {
		l.seen, l.owed = l.at, d.unsettled(l.at)
	}
	if l.midway = !full && page.More; l.midway {
		return true, page.Next, nil
	}
	if l.walk == walkAll {
		l.all.done(d.looked, l.read)
	} else {
		l.all.skipped = true
	}
	return false, page.Next, nil
}

// setOut begins a walk.
func (d *duty) setOut() {
	l := d.look
	g, at, short := d.backlog.short()
	switch {
	case !d.looked.Before(l.all.due):
		d.lookAtAll()
	case short:
		delete(d.backlog.passed, g)
		l.walk, l.refilled, l.at = walkBack, g, dlq.DueAfter{At: at.At.Add(-time.Microsecond)}
	case d.unsettled(l.seen) && d.looked.Sub(l.wentBack) >= overlap:
		l.walk, l.at = walkOn, dlq.DueAfter{At: l.seen.At.Add(-2 * overlap)}
		l.wentBack, l.owed = d.looked, false
	default:
		l.walk, l.at, l.owed = walkOn, l.seen, l.owed && d.unsettled(l.seen)
	}
}

// unsettled reports whether something may still come to stand before that place.
func (d *duty) unsettled(at dlq.DueAfter) bool { return d.queue.Now().Sub(at.At) < settles }

// meet takes down a dead letter that a look showed. It reports false when there was
// no room for it.
func (d *duty) meet(i *dlq.Item) bool {
	if d.lanes.Owns(i) {
		return d.backlog.keep(i)
	}
	if outbox := d.queue.Catalog().Outbox(i.Outbox); outbox != nil {
		share, _ := outbox.ShareWith(i.Record[contracts.FieldShard])
		d.look.elsewhere[share] = i
	}
	return true
}
