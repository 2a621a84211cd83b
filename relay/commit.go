package relay

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// write commits a batch. What stands in its way is narrowed down by halves to
// the document that causes it, so that the others of the batch are settled all
// the same: also if it is a panic.
func (s *settler) write(ctx context.Context, batch []*settlement) {
	if err := s.guard.do(partSettler, func() error { return s.try(ctx, &batch) }); !panicked(err) {
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

// try is write, but for its panics. It takes out of the batch what came another way
// before it is sent.
func (s *settler) try(ctx context.Context, batch *[]*settlement) error {
	if err := s.exhume(ctx, *batch); err != nil {
		if !panicked(err) && ctx.Err() == nil {
			s.unanswered(ctx, *batch, err)
		}
		return err
	}
	if *batch = s.withoutStale(ctx, s.fence(*batch)); len(*batch) > 0 {
		s.send(ctx, *batch)
	}
	return nil
}

// send commits a batch. A refusal, or a contention that a smaller batch may not meet,
// is for the document that causes it; what is no answer is an outage.
func (s *settler) send(ctx context.Context, batch []*settlement) {
	err := s.commit(ctx, batch)
	switch {
	case ctx.Err() != nil && err != nil:
	case err != nil && !dlq.IsRefused(err) && !isContended(err):
		s.unanswered(ctx, batch, err)
	default:
		s.answered(ctx, batch)
		s.follow(ctx, batch, err)
	}
}

// follow follows up on a commit that the server answered.
func (s *settler) follow(ctx context.Context, batch []*settlement, err error) {
	switch {
	case err == nil:
		for _, st := range batch {
			s.committed(st)
		}
	case len(batch) > 1:
		s.halve(ctx, batch)
	case isContended(err):
		s.later(ctx, batch[0])
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

// commit sends the batch once.
func (s *settler) commit(ctx context.Context, batch []*settlement) error {
	writes := make([]Write, 0, len(batch))
	for _, st := range batch {
		writes = st.writes(writes)
	}
	began := s.now()
	ctx, cancel := context.WithTimeout(ctx, s.tuning.CommitTimeout)
	defer cancel()
	writes = once(writes)
	updated, err := s.store.Commit(ctx, writes)
	s.metrics.commit(s.lane, len(batch), s.now().Sub(began), err)
	if err == nil {
		written(batch, writes, updated)
	}
	return err
}

// written notes what update times a commit left its records with. One that said what
// its document said already, as a write may that is made again, left it its earlier one:
// to take that for older than the settlement would be to never read it again.
func written(batch []*settlement, writes []Write, updated []time.Time) {
	latest, next := dlq.Latest(updated), 0
	for _, st := range batch {
		st.written = latest
		for i := next; i < len(writes); i++ {
			if r := st.entry.rec; writes[i].ID == r.ID && writes[i].Collection == r.Outbox {
				if !updated[i].IsZero() {
					st.written = updated[i]
				}
				next = i + 1
				break
			}
		}
	}
}

// isContended reports whether somebody else had one of the documents locked, for
// as long as the server cared to wait.
func isContended(err error) bool { return contracts.CodeOf(err) == "Aborted" }

// committed moves the record on after its settlement was written.
func (s *settler) committed(st *settlement) {
	s.ends(st)
	e := st.entry
	s.metrics.settled(e.outbox.spec.Name, st.kind)
	e.trail.settled(st)
	if st.kind == settleDead {
		e.outbox.died(st)
		e.outbox.buried(st, st.written)
	}
	s.tell(st, feed.Settled{Settlement: &st.Settlement, At: st.written})
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
		log.Warn("settlement refused, and its record cannot be read", zap.NamedError("refused", cause), zap.Error(err))
		s.later(ctx, st)
		return
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
	case !exists && st.orphaned():
		s.refusedAlone(ctx, st, cause, log)
	case !exists:
		log.Warn("record is gone from its outbox")
		s.abandon(st, s.now())
	case status == contracts.Dead && st.kind == settleDead:
		s.diedBefore(ctx, st, doc.UpdateTime, log)
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
	case st.kind == settleDead && st.dead.inTheWay(cause):
		if err := s.collided(ctx, st.dead); err != nil {
			log.Warn("read colliding dead letter", zap.Error(err))
		}
		s.later(ctx, st) // soon, and not so soon while somebody changes it again and again
	case st.kind == settleHeld && s.fenceMoved(ctx, st):
		log.Debug("freeze changed meanwhile, or cannot be read, judging the record again")
		s.later(ctx, st)
	case st.kind == settleRetry && st.slim > 0:
		log.Warn("retry does not fit into its document, keeping it in memory alone")
		s.superseded(st)
	case contracts.CodeOf(cause) == "InvalidArgument" && st.cutDown():
		log.Warn("settlement refused, writing less of it", zap.Error(cause))
		s.write(ctx, []*settlement{st})
	default:
		s.keep(ctx, st, cause, log)
	}
}

// refusedAlone resolves a refused dead letter whose record is gone: it is all that is left.
func (s *settler) refusedAlone(ctx context.Context, st *settlement, cause error, log *zap.Logger) {
	switch code := contracts.CodeOf(cause); {
	case st.dead.inTheWay(cause):
		s.diedBefore(ctx, st, s.now(), log)
	case code == "InvalidArgument" && st.cutDown():
		log.Warn("settlement refused, writing less of it", zap.Error(cause))
		s.write(ctx, []*settlement{st})
	default:
		s.keep(ctx, st, cause, log)
	}
}

// keep tries a refused settlement again, where nothing that is known helps: visible in
// the log and in relay_settle_refusals_total, as it may be an index or a rule that an
// operator mends.
func (s *settler) keep(ctx context.Context, st *settlement, cause error, log *zap.Logger) {
	log.Error("settlement refused", zap.Error(cause))
	s.later(ctx, st)
}

// reread reads the record's document.
func (s *settler) reread(ctx context.Context, e *entry) (Doc, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.tuning.CommitTimeout)
	defer cancel()
	return s.store.Get(ctx, e.rec.Outbox, e.rec.ID)
}

// abandon ends a settlement that somebody else's write made pointless.
func (s *settler) abandon(st *settlement, at time.Time) {
	s.ends(st)
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
	s.ends(st)
	s.tell(st, feed.Dropped{Settlement: &st.Settlement})
}
