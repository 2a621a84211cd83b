package relay

import (
	"context"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// diedBefore ends a burial whose record another commit has settled as dead, or whose
// record is gone: by a commit of ours whose answer was lost, which is told of as any
// dead letter, or by another owner's, who told of it. While nobody can tell, it is
// tried again; and so is that of a record that is gone, where what stands in its place
// is another record's, or an earlier death of this one.
func (s *settler) diedBefore(ctx context.Context, st *settlement, at time.Time, log *zap.Logger) {
	d := st.dead
	there, err := s.standing(ctx, d)
	switch {
	case err != nil:
		log.Warn("record is dead-lettered or gone, and its dead letter cannot be read", zap.Error(err))
		s.later(ctx, st)
		return
	case d.orphan && (there == nil || d.before != nil && there.DeadAt.Equal(d.before.DeadAt)):
		if err := s.collided(ctx, d); err != nil {
			log.Warn("read colliding dead letter", zap.Error(err))
		}
		s.later(ctx, st)
		return
	case there != nil && there.DeadAt.Equal(d.item.DeadAt.Truncate(time.Microsecond)):
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

// standing reads the dead letter of the record as it stands in the queue; nil: there is
// none. Another owner's, or that of an earlier death, tells of another time of death.
func (s *settler) standing(ctx context.Context, d *deadLetter) (*dlq.Item, error) {
	ctx, cancel := context.WithTimeout(ctx, s.tuning.CommitTimeout)
	defer cancel()
	doc, exists, err := s.store.Get(ctx, contracts.CollectionDeadLetters, d.item.ID)
	if err != nil || !exists {
		return nil, err
	}
	if item := doc.deadLetter(); item.RecordPath == d.item.RecordPath {
		return item, nil
	}
	return nil, nil //nolint:nilnil // there is none
}

// deadLetter decodes a document of the queue.
func (d Doc) deadLetter() *dlq.Item {
	return dlq.DecodeItem(dlq.Doc{ID: d.ID, Fields: d.fields(), UpdateTime: d.UpdateTime})
}
