package relay

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// Strays are records that no feed brings: of no lane that there is, or of no shard.
// They break the contract and go to the dead-letter queue. As nothing is known of
// their sizes, a listener shows few of them, and pages bring them where there are
// more.

// strayWindow is the window of a listener for strays, its canary included.
const strayWindow = 20

// strayPoll is how long strays wait at most for their next page while they have no
// listener, and with them the first record of a lane that is not read. Most of these
// pages are empty, and some servers read the whole collection for each.
const strayPoll = 5 * time.Second

// watchStrays takes strays as they come. Records of a lane that is not read yet have
// it read.
func (o *outbox) watchStrays(ctx context.Context, scan Scan) {
	log := o.log.With(zap.String("lane", listenerName(scan)))
	o.begun.pages.Wait() // all of them end with ctx too
	for many := false; ctx.Err() == nil; {
		o.pollStrays(ctx, scan, many, log)
		many = o.listenForStrays(ctx, o.current(scan), log)
	}
}

// current leaves out of a scan for strays what is read by now.
func (o *outbox) current(scan Scan) Scan {
	if scan.Kind == ScanStrays {
		scan.Lanes = o.lanesRead()
	}
	return scan
}

// listenForStrays takes what a listener tells, until another lane is read, or there
// are more than it shows.
func (o *outbox) listenForStrays(ctx context.Context, scan Scan, log *zap.Logger) (many bool) {
	var opened chan struct{}
	if scan.Kind == ScanStrays {
		opened = o.opened
	}
	scan.Limit = strayWindow
	l := o.startListener(ctx, scan, log)
	defer l.stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-opened:
			if !slices.Equal(scan.Lanes, o.lanesRead()) {
				return false
			}
		case <-l.ready:
			docs, full, _ := l.take()
			o.takeStrays(ctx, o.sortOut(ctx, scan, docs))
			if full && slices.Equal(scan.Lanes, o.current(scan).Lanes) {
				return true
			}
		}
	}
}

// pollStrays takes strays from pages while the outbox works off a backlog, or there
// are many of them.
func (o *outbox) pollStrays(ctx context.Context, scan Scan, many bool, log *zap.Logger) {
	state := o.health.listener(scan)
	for {
		works, over := o.worksOff()
		wait := strayPoll
		switch {
		case many:
			over, wait = nil, pollEvery
		case !works:
			return
		}
		state.closed()
		select {
		case <-ctx.Done():
			return
		case <-over:
			return
		case <-time.After(wait):
		}
		docs, err := o.pageOfStrays(ctx, scan)
		if ctx.Err() != nil {
			return
		}
		if state.paged(o.now(), err); err != nil {
			log.Warn("read outbox", zap.Error(err))
			continue
		}
		many = len(docs)+1 >= strayWindow || len(docs) > 0 && docs[len(docs)-1].More
		o.takeStrays(ctx, docs)
	}
}

// pageOfStrays reads a page of strays.
func (o *outbox) pageOfStrays(ctx context.Context, scan Scan) ([]Doc, error) {
	scan = o.current(scan)
	page, _, err := o.sweepPage(ctx, scan)
	if err != nil {
		return nil, err
	}
	return o.sortOut(ctx, scan, page), nil
}

// sortOut returns the strays of what a scan for them showed, and has the lanes of the
// other records read.
func (o *outbox) sortOut(ctx context.Context, scan Scan, docs []Doc) (strays []Doc) {
	for _, d := range docs {
		if d.Canary() {
			o.removeLeft(ctx, d)
			continue
		}
		if in := o.intakeFor(laneOf(d)); in != nil && scan.Kind == ScanStrays {
			o.read(in)
			continue
		}
		strays = append(strays, d)
	}
	return strays
}

// removeLeft removes a canary if it is of no listener of the share: it was left by an
// instance that crashed, with another catalog. It would pass for pending for ever.
func (o *outbox) removeLeft(ctx context.Context, d Doc) {
	if slices.ContainsFunc(o.scans(), func(s Scan) bool { return canaryFor(s).id == d.ID }) {
		return
	}
	left := Write{Collection: o.spec.Name, ID: d.ID, Op: OpDelete, IfUnchangedSince: d.UpdateTime}
	if _, err := o.store.Commit(ctx, []Write{left}); err != nil && ctx.Err() == nil {
		o.log.Warn("remove a canary that was left", zap.String("canary", d.ID), zap.Error(err))
	}
}

// laneOf is what a document says of its lane.
func laneOf(d Doc) contracts.Lane {
	lane, _ := d.fields()[contracts.FieldLane].(string)
	return contracts.Lane(lane)
}

// takeStrays takes documents that no feed brought into memory.
func (o *outbox) takeStrays(ctx context.Context, docs []Doc) (taken int) {
	var entries []*entry
	for _, d := range docs {
		if d.Canary() {
			continue
		}
		if d, j, _ := o.judge(ctx, d, nil); j == feed.Unknown {
			entries = append(entries, o.newEntry(d, nil))
		}
	}
	slices.SortStableFunc(entries, byVersion)
	for _, e := range entries {
		if o.found(e) {
			taken++
		}
	}
	return taken
}

// strays takes the strays of which their listener should have told.
func (s *sweeper) strays(ctx context.Context) error {
	o := s.outbox
	page, err := o.pageOfStrays(ctx, o.strayScans()[0])
	if err != nil {
		return err
	}
	var old []Doc
	for _, d := range page {
		if d.ReadTime.Sub(d.UpdateTime) >= o.tuning.SweepAge {
			old = append(old, d)
		}
	}
	s.take(ctx, foundMissed, old)
	return nil
}
