package relay

import (
	"context"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// diedBefore ends a burial whose record another commit has settled as dead, or whose
// record is gone: by a commit of ours whose answer was lost, which is told of as any
// dead letter, or by another owner's, who told of it. While nobody can tell, it is
// tried again, and beside another record's dead letter.
func (s *settler) diedBefore(ctx context.Context, st *settlement, at time.Time, log *zap.Logger) {
	d := st.dead
	there, ours, err := s.standing(ctx, d)
	switch {
	case err != nil:
		log.Warn("record is dead-lettered or gone, and its dead letter cannot be read", zap.Error(err))
		s.later(ctx, st)
		return
	case d.orphan && !there:
		if err := d.collided(ctx, s.store); err != nil {
			log.Warn("read colliding dead letter", zap.Error(err))
		}
		s.later(ctx, st)
		return
	case ours:
		log.Debug("dead letter was written by a commit whose answer was lost")
		e := st.entry
		s.metrics.settled(e.outbox.spec.Name, st.kind)
		e.trail.settled(st)
		e.outbox.died(st)
	case d.orphan:
		log.Warn("record is gone from its outbox")
	default:
		log.Debug("record was settled before", zap.String("status", string(contracts.Dead)))
	}
	s.abandon(st, at)
}

// standing reports whether a dead letter of the record stands in the queue, and whether
// it is as we wrote it: another owner's tells of another time of death.
func (s *settler) standing(ctx context.Context, d *deadLetter) (there, ours bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.tuning.CommitTimeout)
	defer cancel()
	doc, exists, err := s.store.Get(ctx, contracts.CollectionDeadLetters, d.item.ID)
	if err != nil || !exists {
		return false, false, err
	}
	fields := doc.fields()
	path, _ := fields[contracts.DeadFieldRecordPath].(string)
	died, _ := fields[contracts.DeadFieldDeadAt].(time.Time)
	there = path == d.item.RecordPath
	return there, there && died.Equal(d.item.DeadAt.Truncate(time.Microsecond)), nil
}
