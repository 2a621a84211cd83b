package relay

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// write commits a batch. What stands in its way is narrowed down by halves to
// the document that causes it, so that the others of the batch are settled all
// the same: also if it is a panic.
func (s *settler) write(ctx context.Context, batch []*settlement) {
	if err := s.guard.do(partSettler, func() error { return s.try(ctx, batch) }); !panicked(err) {
		return
	}
	batch = slices.DeleteFunc(slices.Clone(batch), func(st *settlement) bool { return st.over })
	switch {
	case len(batch) > 1:
		s.halve(ctx, batch)
	case len(batch) == 1:
		s.later(ctx, batch[0])
	}
}

// later writes a settlement after a while, apart: the rest of its batch and of
// its lane must not wait for it.
func (s *settler) later(ctx context.Context, st *settlement) {
	s.commits.Go(func() {
		if sleep(ctx, s.tuning.ListenBackoffMax) {
			s.write(ctx, []*settlement{st})
		}
	})
}

// try is write, but for its panics.
func (s *settler) try(ctx context.Context, batch []*settlement) error {
	if err := s.exhume(ctx, batch); err != nil {
		return err // ctx ended
	}
	if batch = s.withoutStale(ctx, s.fence(batch)); len(batch) > 0 {
		s.send(ctx, batch)
	}
	return nil
}

func (s *settler) send(ctx context.Context, batch []*settlement) {
	at, err := s.commit(ctx, batch)
	switch {
	case err == nil:
		for _, st := range batch {
			s.committed(st, at)
		}
	case ctx.Err() != nil:
	case errors.Is(err, errStale):
		s.write(ctx, batch)
	case len(batch) > 1:
		s.halve(ctx, batch)
	default:
		s.refused(ctx, batch[0], err)
	}
}

// halve writes the batch as two, side by side if there is a slot for it: the
// half with the culprit may take its time to fail.
func (s *settler) halve(ctx context.Context, batch []*settlement) {
	half, rest := batch[:len(batch)/2], batch[len(batch)/2:]
	select {
	case s.slots <- struct{}{}:
		s.commits.Go(func() {
			defer func() { <-s.slots; signal(s.wake) }()
			s.write(ctx, rest)
		})
		s.write(ctx, half)
	default:
		s.write(ctx, half)
		s.write(ctx, rest)
	}
}

// commit sends the batch until the server answered: with a commit time, with a
// refusal, or with a contention that a smaller batch may not meet. Anything else
// is an outage, to be waited out; errStale when the lease was lost over it.
func (s *settler) commit(ctx context.Context, batch []*settlement) (time.Time, error) {
	delay := newRetryDelay(s.tuning.ListenBackoff, s.tuning.ListenBackoffMax)
	for {
		writes := make([]Write, 0, len(batch))
		for _, st := range batch {
			writes = st.writes(writes)
		}
		writes = once(writes)
		began := s.now()
		c, cancel := context.WithTimeout(ctx, s.tuning.CommitTimeout)
		at, err := s.store.Commit(c, writes)
		cancel()
		s.metrics.commit(s.lane, len(batch), s.now().Sub(began), err)
		if err == nil || isRefused(err) || isContended(err) && len(batch) > 1 {
			return at, err
		}
		if ctx.Err() != nil {
			return time.Time{}, err
		}
		s.log.Warn("settle records, trying again", zap.Int("records", len(batch)), zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		delay.sleep(ctx)
		switch {
		case ctx.Err() != nil:
			return time.Time{}, ctx.Err()
		case anyStale(batch):
			return time.Time{}, errStale
		}
	}
}

func isRefused(err error) bool {
	var ce CommitError
	return errors.As(err, &ce) && ce.Refused()
}

// isContended reports whether somebody else had one of the documents locked, for
// as long as the server cared to wait.
func isContended(err error) bool { return contracts.CodeOf(err) == "Aborted" }

// committed moves the record on after its settlement was written.
func (s *settler) committed(st *settlement, at time.Time) {
	st.over = true
	e := st.entry
	s.metrics.settled(e.outbox.spec.Name, st.kind)
	e.trail.settled(st)
	if st.kind == settleDead {
		e.outbox.buried(st, at)
	}
	s.tell(st, feed.Settled{Settlement: &st.Settlement, At: at})
	if st.kind == settleDead {
		e.outbox.pools[e.lane].Wake(buryLabel(e.Aggregate))
	}
}

// refused resolves a single settlement that the server refused: by what the
// document says now. A commit that was applied though its answer was lost
// shows here too, as a precondition that fails because of ourselves.
func (s *settler) refused(ctx context.Context, st *settlement, cause error) {
	e := st.entry
	log := s.log.With(zap.String("outbox", e.rec.Outbox), zap.String("record", e.rec.ID), zap.String("traceId", e.rec.TraceID),
		zap.String("settlement", string(st.kind)), zap.String("reason", contracts.CodeOf(cause)), e.trail.field())
	doc, exists, err := s.reread(ctx, e)
	if err != nil {
		return // ctx ended
	}
	status := contracts.Status("")
	if exists {
		v, _ := doc.fields()[contracts.FieldStatus].(string)
		status = contracts.Status(v)
	}
	s.metrics.refusals.WithLabelValues(string(st.kind)).Inc()
	switch {
	case !exists && st.kind == settleDead && !st.dead.orphan:
		log.Warn("record to be dead-lettered is gone from its outbox, keeping its dead letter alone")
		st.dead.orphan = true
		s.write(ctx, []*settlement{st})
	case !exists:
		log.Warn("record is gone from its outbox")
		s.abandon(st, s.now())
	case status == contracts.Delivered || status == contracts.Dead:
		// Ours whose answer was lost, or another owner's: either way it is true.
		log.Debug("record was settled before", zap.String("status", string(status)))
		s.abandon(st, doc.UpdateTime)
	case status == contracts.Held && st.kind != settleDelivered && st.kind != settleDead:
		log.Debug("record was held meanwhile: its release brings it back")
		s.abandon(st, doc.UpdateTime)
	case !st.sent.IsZero() && !doc.UpdateTime.Equal(st.sent):
		// Changed since it was read: the precondition was right to fail. What is
		// to be written holds all the same.
		log.Debug("record changed meanwhile, settling again")
		st.atLeast(doc)
		e.outbox.ledger.step(feed.Changed{Record: &e.Record, At: doc.UpdateTime})
		s.write(ctx, []*settlement{st})
	case st.kind == settleDead && contracts.CodeOf(cause) == "AlreadyExists":
		if err := st.dead.collided(ctx, s.store); err != nil {
			log.Warn("read colliding dead letter", zap.Error(err))
			if !sleep(ctx, s.tuning.ListenBackoff) {
				return
			}
		}
		s.write(ctx, []*settlement{st})
	case st.kind == settleHeld && s.fenceMoved(ctx, st):
		log.Debug("freeze changed meanwhile, judging the record again")
		s.write(ctx, []*settlement{st})
	case st.kind == settleRetry && st.slim > 0:
		log.Warn("retry does not fit into its document, keeping it in memory alone")
		s.superseded(st)
	case contracts.CodeOf(cause) == "InvalidArgument" && st.cutDown():
		log.Warn("settlement refused, writing less of it", zap.Error(cause))
		s.write(ctx, []*settlement{st})
	default:
		// Nothing that is known helps. Keep it, visible in the log and in
		// relay_settle_refusals_total, and try again: it may be an index or a
		// rule that an operator mends.
		log.Error("settlement refused", zap.Error(cause))
		s.later(ctx, st)
	}
}

// reread reads the record's document, through outages.
func (s *settler) reread(ctx context.Context, e *entry) (Doc, bool, error) {
	delay := newRetryDelay(s.tuning.ListenBackoff, s.tuning.ListenBackoffMax)
	for {
		c, cancel := context.WithTimeout(ctx, s.tuning.CommitTimeout)
		doc, ok, err := s.store.Get(c, e.rec.Outbox, e.rec.ID)
		cancel()
		if err == nil {
			return doc, ok, nil
		}
		if ctx.Err() != nil {
			return Doc{}, false, ctx.Err()
		}
		s.log.Warn("read record again", zap.String("traceId", e.rec.TraceID), zap.Error(err))
		delay.sleep(ctx)
	}
}

// abandon ends a settlement that somebody else's write made pointless.
func (s *settler) abandon(st *settlement, at time.Time) {
	st.over = true
	e := st.entry
	if st.kind == settleDead {
		e.outbox.notBuried(st)
	}
	if !s.tell(st, feed.Overtaken{Settlement: &st.Settlement, At: at}) {
		e.trail.end(outcomeElsewhere)
	}
}

// superseded ends a settlement that is not written: its record goes on as it is.
func (s *settler) superseded(st *settlement) {
	st.over = true
	s.tell(st, feed.Dropped{Settlement: &st.Settlement})
}
