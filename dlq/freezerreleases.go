package dlq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// releaser finishes releases: it turns the held records of an aggregate back to
// pending, in every outbox, and then deletes its freeze. Each step may be
// repeated, so a release goes on where a crash left it.
type releaser struct {
	queue *Queue
	cfg   SiblingConfig
	bell  <-chan struct{}
	wake  chan struct{} // the bell, or a listener that heard of a release on another instance
}

func newReleaser(q *Queue, cfg SiblingConfig) *releaser {
	return &releaser{queue: q, cfg: cfg, bell: q.Hear(BellFreezes), wake: make(chan struct{}, 1)}
}

const (
	// releasePage is how many freezes are looked at together.
	releasePage = 100
	// heldPage is how many held records go into one commit.
	heldPage = 200
	// maxHeldRefusals bounds the refused commits in a row before a release is
	// left for the next round.
	maxHeldRefusals = 10
)

// decidedReleases finds the freezes whose release was decided.
var decidedReleases = Query{
	Collection: contracts.CollectionFrozen, Where: []Where{{FreezeFieldState, "==", string(Releasing)}},
	OrderBy: []Order{{Field: FieldID}}, Limit: releasePage,
}

func (r *releaser) run(ctx context.Context) error {
	return rounds(ctx, r.wake, r.cfg, "release frozen aggregates", r.releaseAll)
}

// listen wakes run, until ctx ends.
func (r *releaser) listen(ctx context.Context) error {
	return wakeOnBoth(ctx, r.queue.store, decidedReleases, r.bell, r.wake, r.cfg)
}

// releaseAll finishes every release that was decided. One that cannot be
// finished does not hold up the others.
func (r *releaser) releaseAll(ctx context.Context) error {
	if !r.cfg.Leads() {
		return nil
	}
	query := decidedReleases
	var failed error
	for {
		c, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
		page, err := r.queue.store.Query(c, query)
		cancel()
		if err != nil {
			return errors.Join(failed, fmt.Errorf("find releases: %w", err))
		}
		for _, freeze := range decodeFreezes(page) {
			if err := r.release(ctx, freeze); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				r.cfg.Metrics.releases.WithLabelValues(outcomeFailed).Inc()
				failed = errors.Join(failed, fmt.Errorf("release aggregate %q: %w", freeze.AggregateID, err))
			}
		}
		if len(page) < query.Limit {
			return failed
		}
		query.StartAfter = []any{page[len(page)-1].ID}
	}
}

// release turns back what is held, then ends the freeze. No record can become
// held meanwhile: a hold is committed with the freeze as it was before the
// release, so it fails. So an outbox that was seen empty stays so, unless the
// aggregate is frozen again, which keeps the freeze from being deleted.
func (r *releaser) release(ctx context.Context, freeze *Freeze) error {
	records := 0
	for _, o := range r.queue.catalog.Outboxes {
		n, err := r.turnBack(ctx, o.Name, freeze)
		records += n
		if errors.Is(err, errOtherFreeze) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	done, err := r.finish(ctx, freeze, records)
	if err != nil || !done {
		return err
	}
	r.cfg.Metrics.releases.WithLabelValues(outcomeDone).Inc()
	r.cfg.Log.Info("aggregate released", zap.String("aggregateId", freeze.AggregateID), zap.String("traceId", freeze.TraceID), zap.Int("records", records))
	r.queue.Ring(BellFreezes)
	return nil
}

// errOtherFreeze ends a release whose freeze is gone, or became another: its
// aggregate died again.
var errOtherFreeze = errors.New("the freeze is not the one that is released")

// turnBack turns the held records of one outbox back to pending, and returns how
// many. A page of them that was changed underneath is read again, as long as the
// freeze stands.
func (r *releaser) turnBack(ctx context.Context, outbox string, freeze *Freeze) (turned int, err error) {
	query := heldQuery(outbox, freeze.AggregateID)
	query.Limit, query.Select = heldPage, []string{contracts.FieldStatus}
	for refused := 0; ; {
		c, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
		n, err := r.turnPage(c, query, freeze)
		cancel()
		switch {
		case err == nil && n == 0:
			return turned, nil
		case err == nil:
			turned += n
			refused = 0
			r.cfg.Metrics.released.Add(float64(n))
		case isRefused(err) && refused < maxHeldRefusals:
			refused++
			if err := r.stands(ctx, freeze); err != nil {
				return turned, err
			}
			if err := pause(ctx, time.Duration(refused)*20*time.Millisecond); err != nil {
				return turned, err
			}
		default:
			return turned, fmt.Errorf("turn back held records of %s: %w", outbox, err)
		}
	}
}

// stands fails with errOtherFreeze when the freeze is not any more as it was read.
func (r *releaser) stands(ctx context.Context, freeze *Freeze) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	doc, err := r.queue.get(ctx, contracts.CollectionFrozen, FreezeID(freeze.AggregateID))
	switch {
	case err != nil:
		return fmt.Errorf("read freeze: %w", err)
	case !doc.UpdateTime.Equal(freeze.UpdateTime):
		return errOtherFreeze
	}
	return nil
}

// turnPage turns back one page, in a commit that holds only for the freeze as it
// was read: what a later death had held stays so.
func (r *releaser) turnPage(ctx context.Context, held Query, freeze *Freeze) (int, error) {
	docs, err := r.queue.store.Query(ctx, held)
	if err != nil || len(docs) == 0 {
		return 0, err
	}
	writes := make([]Write, 0, len(docs)+1)
	for _, d := range docs {
		writes = append(writes, Write{
			Collection: held.Collection, ID: d.ID, Op: OpUpdate, IfUnchangedSince: d.UpdateTime,
			Fields: map[string]any{contracts.FieldStatus: string(contracts.Pending)},
		})
	}
	_, err = r.queue.store.Commit(ctx, append(writes, freeze.Fence()))
	return len(docs), err
}

// finish deletes the freeze as it was read, with its audit entry. It reports
// false when the aggregate was frozen again.
func (r *releaser) finish(ctx context.Context, freeze *Freeze, records int) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	entry := &Entry{
		ID: "released-" + freeze.Release, Actor: Service().Name, Action: ActionReleased, Subject: SubjectFreeze, On: freeze.AggregateID,
		From: string(Releasing), Reason: fmt.Sprintf("decided by %s; %d held records turned back", orNobody(freeze.ReleasedBy), records),
		Outbox: freeze.Outbox, EventID: freeze.EventID, EventType: freeze.EventType, TraceID: freeze.TraceID, AggregateID: freeze.AggregateID,
	}
	again := false
	_, err = r.queue.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := r.queue.get(ctx, contracts.CollectionFrozen, FreezeID(freeze.AggregateID))
		if err != nil || !doc.Exists() { // gone: by a commit whose answer was lost, or by another instance
			return nil, err
		}
		if again = !doc.UpdateTime.Equal(freeze.UpdateTime); again {
			return nil, nil
		}
		return []Write{
			{Collection: contracts.CollectionFrozen, ID: doc.ID, Op: OpDelete, IfUnchangedSince: doc.UpdateTime},
			entry.Write(),
		}, nil
	})
	if err != nil {
		return false, fmt.Errorf("end freeze: %w", err)
	}
	return !again, nil
}
