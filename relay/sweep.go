package relay

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// sweeper looks, slowly, for what no listener can see: records without a lane,
// a createdAt or a known status, and records that a listener should have told
// of and did not. Counting comes first, at one read for a thousand documents;
// documents are read only where the counts disagree, and nothing is looked for
// among what is pending while nothing is.
type sweeper struct {
	outbox   *outbox
	oldest   map[*intake]Position // where the search for missed records goes on
	searches map[searched]string  // document ID where a search goes on; none: nothing is searched
	rest     int64                // sweeps until all documents are counted again
	heldRest int                  // sweeps until held records are counted again
	due      int64                // records in backoff that nobody waits for, of those that were looked at
	none     bool                 // nothing is in backoff, held or of an odd status, by the count of this sweep
}

// searched is what is searched, and for what.
type searched struct {
	kind  ScanKind
	found string
}

const (
	// sweepPages bounds the pages that one search reads in one sweep; the next
	// sweep goes on where it stopped.
	sweepPages = 5
	// countEvery makes counting all documents rarer as the collection grows: one
	// sweep in 1 + documents/countEvery. Retained records cost nothing then.
	countEvery = 10_000
)

func (o *outbox) sweepLoop(ctx context.Context) error {
	s := &sweeper{outbox: o, oldest: make(map[*intake]Position), searches: make(map[searched]string)}
	for sleep(ctx, o.tuning.SweepInterval) {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			o.metrics.sweepErrors.WithLabelValues(o.spec.Name).Inc()
			o.log.Warn("sweep outbox", zap.Error(err))
		}
		o.health.swept(o.now())
	}
	return nil
}

// What a sweep finds, as metric labels.
const (
	foundMissed   = "missed"   // a listener should have told of it
	foundUnplaced = "unplaced" // no lane or no createdAt
	foundStatus   = "status"   // no status, or an unknown one
	foundHeld     = "held"     // held, though its aggregate is not frozen
	foundRetrying = "retrying" // in backoff, and nobody waits for it: it was appended so
	foundShard    = "shard"    // of no shard of its outbox
)

func sweepFinds() []string {
	return []string{foundMissed, foundUnplaced, foundStatus, foundHeld, foundRetrying, foundShard}
}

// sweep looks in every way that there is. One that fails, as for an index that is
// missing, keeps none of the others from it.
func (s *sweeper) sweep(ctx context.Context) error {
	o := s.outbox
	var ways []func(context.Context) error
	if o.nothingPending(ctx, o.now().Add(-o.tuning.SweepAge)) { // what came since is too young
		clear(s.oldest)
		delete(s.searches, searched{ScanUnordered, foundUnplaced})
	} else {
		for _, in := range o.intakes {
			if in.isRead() {
				ways = append(ways, func(ctx context.Context) error { return s.missed(ctx, in) })
			}
		}
		ways = append(ways, s.unplaced)
	}
	ways = append(ways, s.unsettled)
	if o.share.First() { // what these find is of no shard
		ways = append(ways, s.oddShards, s.statusless)
	}
	return s.look(ctx, ways)
}

func (s *sweeper) look(ctx context.Context, ways []func(context.Context) error) error {
	var errs []error
	for _, look := range ways {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, s.outbox.guard.do(partSweep, func() error { return look(ctx) }))
	}
	return errors.Join(errs...)
}

// unsettled looks at what is in backoff, held or of an odd status, if anything in
// the collection is: mostly nothing is, and one count says so.
func (s *sweeper) unsettled(ctx context.Context) error {
	o := s.outbox
	all, err := o.store.Count(ctx, o.whole(ScanUnsettled))
	if s.none = err == nil && all[0] == 0; s.none {
		delete(s.searches, searched{ScanRetrying, foundRetrying})
		o.health.backsOff(inBackoff{})
		return nil
	}
	ways := []func(context.Context) error{s.retrying, s.orphans}
	if o.share.First() {
		ways = append(ways, s.oddStatuses)
	}
	return errors.Join(err, s.look(ctx, ways))
}

func (s *sweeper) oddStatuses(ctx context.Context) error {
	_, err := s.statuses(ctx, ScanOddStatus)
	return err
}

// statuses takes a page of what has no known status, and returns how many documents
// that were.
func (s *sweeper) statuses(ctx context.Context, kind ScanKind) (int64, error) {
	page, _, err := s.outbox.sweepPage(ctx, s.outbox.whole(kind))
	if err != nil {
		return 0, err
	}
	s.take(ctx, foundStatus, page)
	return int64(len(page)), nil
}

// missed looks through the oldest pending records of a lane for such as are
// old and neither in memory nor behind a gate, nor what the lane's reader, which is late,
// has yet to come to.
func (s *sweeper) missed(ctx context.Context, in *intake) error {
	o := s.outbox
	after := s.oldest[in]
	for range sweepPages {
		scan := o.laneScan(in)
		scan.After, scan.Limit = after, in.pageLimit(sweepPage)
		page, err := o.store.Page(ctx, scan)
		if err != nil {
			return err
		}
		for _, d := range page {
			if d.Canary() {
				o.removeLeft(ctx, d)
				continue
			}
			age := min(d.ReadTime.Sub(d.CreateTime), d.ReadTime.Sub(d.UpdateTime))
			if age < o.tuning.SweepAge || !o.missed(d, in, age-o.tuning.SweepAge) {
				continue
			}
			o.metrics.swept.WithLabelValues(o.spec.Name, foundMissed).Inc()
			o.log.Warn("sweep found a record that its listener missed", zap.String("record", d.ID), zap.String("lane", string(in.lane)))
		}
		if len(page) < scan.Limit {
			delete(s.oldest, in)
			return nil
		}
		after = page[len(page)-1].position()
		s.oldest[in] = after
	}
	return nil
}

// unplaced looks for pending records that no query of a listener matches.
func (s *sweeper) unplaced(ctx context.Context) error {
	o := s.outbox
	scan := o.scan(ScanUnordered)
	parts := []Scan{o.strayScans()[0]}
	for _, lane := range parts[0].Lanes {
		parts = append(parts, o.laneScan(o.intakeFor(lane)))
	}
	counts, beyond, err := o.beyond(ctx, scan, parts...)
	if err != nil {
		return err
	}
	o.health.pends(counts[0])
	if counts[1] > 1 { // than their canary
		if err := s.strays(ctx); err != nil {
			return err
		}
	}
	if beyond <= 0 {
		delete(s.searches, searched{scan.Kind, foundUnplaced})
		return nil
	}
	return s.search(ctx, scan, foundUnplaced, func(fields map[string]any) bool {
		lane, _ := fields[contracts.FieldLane].(string)
		_, placed := fields[contracts.FieldCreatedAt]
		return lane == "" || !placed
	})
}

// beyond counts all documents of a scan, then those of each of its parts, and says
// how many none of these shows.
func (o *outbox) beyond(ctx context.Context, whole Scan, parts ...Scan) (counts []int64, beyond int64, err error) {
	if counts, err = o.store.Count(ctx, append([]Scan{whole}, parts...)...); err != nil {
		return nil, 0, err
	}
	beyond = counts[0]
	for _, n := range counts[1:] {
		beyond -= n
	}
	return counts, beyond, nil
}

// retrying looks for records in backoff that are not in memory: they were
// appended so, or an owner before marked them late. No listener tells of them.
func (s *sweeper) retrying(ctx context.Context) error {
	o := s.outbox
	scan := o.scan(ScanRetrying)
	all, err := o.store.Count(ctx, scan)
	if err != nil {
		return err
	}
	what := searched{scan.Kind, foundRetrying}
	if s.searches[what] == "" {
		s.due = 0
	}
	var alone []*entry
	if all[0] > 0 {
		err = s.portion(ctx, scan, foundRetrying, func(page []Doc) { alone = append(alone, s.unattended(ctx, page)...) })
	}
	if found := o.takeRetrying(alone); found > 0 {
		o.metrics.swept.WithLabelValues(o.spec.Name, foundRetrying).Add(float64(found))
		o.log.Warn("sweep found records in backoff that nobody waits for", zap.Int("records", found))
	}
	if err != nil {
		return err
	}
	due := s.due
	if s.searches[what] != "" { // there are more to be looked at
		due = max(due, o.health.snapshot(o.now()).Unattended)
	}
	o.health.backsOff(inBackoff{all[0], due})
	return nil
}

// unattended counts the records of a page that are due and not in memory, and
// returns those that are old enough for nobody else to be about to take them.
func (s *sweeper) unattended(ctx context.Context, page []Doc) (old []*entry) {
	o := s.outbox
	for _, d := range page {
		d, j, _ := o.judge(ctx, d, nil)
		if j != feed.Unknown {
			continue
		}
		if isDue(d) {
			s.due++
		}
		if d.ReadTime.Sub(d.UpdateTime) >= o.tuning.SweepAge {
			old = append(old, o.newRetrying(d))
		}
	}
	return old
}

// isDue reports whether a record's retry was due when it was read; one that does
// not say when it is, is.
func isDue(d Doc) bool {
	at, _ := d.fields()[contracts.FieldNextAttemptAt].(time.Time)
	return !at.After(d.ReadTime)
}

// statusless looks for documents without any status, and for those with null as
// status, which a query finds. While the former are searched they are not counted
// again, which is dear where there are many.
func (s *sweeper) statusless(ctx context.Context) error {
	o := s.outbox
	scan := o.whole(ScanEverything)
	counting := s.searches[searched{scan.Kind, foundStatus}] == "" && s.rest == 0
	var beyond int64
	if counting {
		counts, without, err := o.beyond(ctx, scan, o.whole(ScanWithStatus))
		if err != nil {
			return err
		}
		s.rest = counts[0] / countEvery
		if beyond = without; beyond <= 0 {
			return nil
		}
	}
	nulls, err := s.statuses(ctx, ScanNullStatus)
	if err != nil {
		return err
	}
	if s.searches[searched{scan.Kind, foundStatus}] == "" {
		if !counting {
			s.rest--
			return nil
		}
		if beyond -= nulls; beyond <= 0 {
			return nil
		}
		o.log.Warn("documents without a status, searching for them", zap.Int64("documents", beyond))
	}
	return s.search(ctx, scan, foundStatus, func(fields map[string]any) bool {
		_, has := fields[contracts.FieldStatus]
		return !has
	})
}

// search takes what matches of a scan by document ID, portion by portion.
func (s *sweeper) search(ctx context.Context, scan Scan, found string, match func(map[string]any) bool) error {
	return s.portion(ctx, scan, found, func(page []Doc) {
		var hits []Doc
		for _, d := range page {
			if !d.Canary() && match(d.fields()) {
				hits = append(hits, d)
			}
		}
		s.take(ctx, found, hits)
	})
}

// portion reads some pages of a scan by document ID, from where the last sweep
// stopped.
func (s *sweeper) portion(ctx context.Context, scan Scan, found string, look func(page []Doc)) error {
	what := searched{scan.Kind, found}
	scan.AfterID = s.searches[what]
	for range sweepPages {
		page, full, err := s.outbox.sweepPage(ctx, scan)
		if err != nil {
			return err
		}
		look(page)
		if !full {
			delete(s.searches, what)
			return nil
		}
		scan.AfterID = page[len(page)-1].ID
		s.searches[what] = scan.AfterID
	}
	return nil
}

func (s *sweeper) take(ctx context.Context, found string, docs []Doc) {
	n := s.outbox.takeStrays(ctx, docs)
	s.outbox.metrics.swept.WithLabelValues(s.outbox.spec.Name, found).Add(float64(n))
	if n > 0 {
		s.outbox.log.Warn("sweep found records that no listener can see", zap.Int("records", n), zap.String("found", found))
	}
}

// missed has a record read again that a feed has passed and nobody brings, and
// reports whether it is one. Its listener should have told of it that long ago.
func (o *outbox) missed(d Doc, in *intake, ago time.Duration) bool {
	if j, _ := o.ledger.judge(d, nil); j != feed.Unknown {
		return false
	}
	late, ever := in.late(o.now())
	return o.ledger.becomes(feed.Missed{Record: &o.newEntry(d, in).Record, Late: !ever || late > ago}).Do == feed.Reading
}
