package relay

import (
	"context"
	"slices"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// frozenPerSweep makes counting held records rarer as more aggregates are
// frozen, since each costs a count: one sweep in 1 + aggregates/frozenPerSweep.
const frozenPerSweep = 20

// orphans looks for held records whose aggregate is not frozen, which nobody
// would ever release, and turns them back to pending. No run of the relay
// leaves such behind; a freeze that was deleted by hand does.
func (s *sweeper) orphans(ctx context.Context) error {
	o := s.outbox
	if o.freezes.queue == nil {
		return nil
	}
	if s.heldRest > 0 {
		s.heldRest--
		return nil
	}
	held := o.scan(ScanHeld)
	all, err := o.store.Count(ctx, held) // alone, as mostly that is the end of it
	if err != nil || all[0] == 0 {
		return err
	}
	frozen := o.freezes.list()
	s.heldRest = len(frozen) / frozenPerSweep
	var theirs []Scan
	for _, aggregateID := range frozen {
		its := held
		its.Aggregate = aggregateID
		theirs = append(theirs, its)
	}
	if _, beyond, err := o.beyond(ctx, held, theirs...); err != nil || beyond <= 0 {
		return err
	}
	byAggregate, found := make(map[string][]Doc), 0
	err = o.pageByID(ctx, held, func(d Doc) {
		aggregateID, _ := d.fields()[contracts.FieldAggregateID].(string)
		if found < sweepPages*sweepPage && !slices.Contains(frozen, aggregateID) {
			found++
			d.Content = nil
			byAggregate[aggregateID] = append(byAggregate[aggregateID], d)
		}
	})
	if err != nil {
		return err
	}
	for aggregateID, docs := range byAggregate {
		if err := s.heal(ctx, aggregateID, docs); err != nil {
			return err
		}
	}
	return nil
}

// heal turns the held records of an aggregate back to pending, unless it is
// frozen after all. As they were read before the freeze, none of them was held
// under a later one.
func (s *sweeper) heal(ctx context.Context, aggregateID string, docs []Doc) error {
	o := s.outbox
	if aggregateID != "" {
		found, err := o.freezes.queue.FreezesOf(ctx, aggregateID)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			o.freezes.toldOne(found[0])
			return nil
		}
	}
	healed, err := 0, error(nil)
	for chunk := range slices.Chunk(docs, o.tuning.CommitSize) {
		var n int
		n, err = s.turnBack(ctx, chunk)
		if healed += n; err != nil {
			break
		}
	}
	if healed > 0 {
		o.metrics.swept.WithLabelValues(o.spec.Name, foundHeld).Add(float64(healed))
		o.log.Warn("sweep found held records whose aggregate is not frozen, let them go on", zap.Int("records", healed), zap.String("aggregateId", aggregateID))
		o.freezes.unfreeze(o, aggregateID)
	}
	return err
}

// turnBack turns held records back to pending, together if the server takes that,
// else each by itself, so that one stands in nobody's way. It returns how many.
func (s *sweeper) turnBack(ctx context.Context, docs []Doc) (turned int, err error) {
	o := s.outbox
	writes := make([]Write, len(docs))
	for i, d := range docs {
		writes[i] = dlq.Write{
			Collection: o.spec.Name, ID: d.ID, Op: OpUpdate, IfUnchangedSince: d.UpdateTime,
			Fields: map[string]any{contracts.FieldStatus: string(contracts.Pending)},
		}
	}
	_, err = o.store.Commit(ctx, writes)
	switch {
	case err == nil:
		return len(docs), nil
	case !dlq.IsRefused(err):
		return 0, err
	case len(docs) == 1:
		return 0, s.cannotTurn(ctx, docs[0], err)
	}
	for _, d := range docs {
		n, err := s.turnBack(ctx, []Doc{d})
		turned += n
		if err != nil {
			return turned, err
		}
	}
	return turned, nil
}

// cannotTurn dead-letters a held record that leaves no room for another status,
// so that a person sees it. One that was changed meanwhile is looked at by the
// next sweep.
func (s *sweeper) cannotTurn(ctx context.Context, d Doc, cause error) error {
	o := s.outbox
	if contracts.CodeOf(cause) != "InvalidArgument" {
		return nil
	}
	now, exists, err := o.store.Get(ctx, o.spec.Name, d.ID)
	if err != nil || !exists || !now.UpdateTime.Equal(d.UpdateTime) {
		return err
	}
	if j, _ := o.ledger.judge(now, nil); j != feed.Unknown {
		return nil
	}
	e := o.newEntry(now, nil)
	e.tier = e.tier.Stricter(contracts.ReviewRequired)
	e.faults = append(e.faults, contracts.Fault{Field: contracts.FieldStatus, Problem: "is held without a freeze, and cannot be changed: " + cause.Error()})
	e.describe(now, nil)
	o.found(e)
	return nil
}
