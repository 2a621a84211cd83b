package dlq

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Released is what a release begins with.
type Released struct {
	Freeze *Freeze
	// Open are the SECURITY_BLOCK dead letters of the aggregate that nobody
	// replayed or discarded, at most a few of them: what is released overtakes
	// them. They come without their records.
	Open []*Item
}

// maxOpen is how many open dead letters a release names.
const maxOpen = 50

// Release is somebody's decision that an aggregate go on.
type Release struct {
	Actor  Actor
	Reason string
	Seen   time.Time // the update time of the freeze that the actor saw; zero: whatever stands there
}

// Release begins the release of a frozen aggregate: what is held is put back by
// the freezer, and the freeze is gone when that is done.
func (q *Queue) Release(ctx context.Context, aggregateID string, d Release) (*Released, error) {
	a := d.Actor
	reason, err := ReasonOf(d.Reason)
	if err != nil {
		return nil, err
	}
	if a.Role < Security {
		return nil, forbidden(a, Security, "to release an aggregate")
	}
	r := &releasing{queue: q, aggregateID: aggregateID, actor: a, reason: reason, seen: d.Seen, id: q.newID()}
	at, err := q.commit(ctx, r.writes)
	if err != nil {
		return nil, fmt.Errorf("release aggregate %s: %w", aggregateID, err)
	}
	if !at.IsZero() {
		r.after.UpdateTime = at
	}
	q.log.Info("release of an aggregate", zap.String("actor", a.Name), zap.String("aggregateId", aggregateID), zap.String("traceId", r.after.TraceID))
	q.Ring(BellFreezes)
	open, err := q.Overtaken(ctx, aggregateID)
	if err != nil { // the release stands; who asked is told what is known
		q.log.Warn("find open dead letters of a released aggregate", zap.String("aggregateId", aggregateID), zap.Error(err))
	}
	return &Released{Freeze: r.after, Open: open}, nil
}

func openBlocked(aggregateID string) Query {
	return Query{
		Collection: contracts.CollectionDeadLetters,
		Where: []Where{
			{contracts.FieldAggregateID, "==", aggregateID},
			{contracts.DeadFieldTier, "==", string(contracts.SecurityBlock)},
			{contracts.DeadFieldOpen, "==", true},
		},
		Select: withoutRecord, Limit: maxOpen,
	}
}

// releasing is one release on its way.
type releasing struct {
	queue       *Queue
	aggregateID string
	actor       Actor
	reason      string
	seen        time.Time
	id          string // of the decision

	after *Freeze // what the last call of writes came to; nil before the first
}

// writes is the release's change.
func (r *releasing) writes(ctx context.Context) ([]Write, error) {
	doc, err := r.queue.get(ctx, contracts.CollectionFrozen, FreezeID(r.aggregateID))
	if err != nil {
		return nil, err
	}
	freeze := DecodeFreeze(doc)
	switch {
	case doc.Exists() && freeze.Release == r.id: // the answer of its commit was lost
		r.after = freeze
		return nil, nil
	case !doc.Exists() || freeze.State == Releasing:
		if done, err := r.stands(ctx); done || err != nil {
			return nil, err
		}
		if !doc.Exists() {
			return nil, notFrozen(r.aggregateID)
		}
		return nil, &Refusal{
			Kind: Conflict, Detail: fmt.Sprintf("it is being released already, by %s since %s", freeze.ReleasedBy, clock(freeze.ReleasedAt)),
			Hint: "wait until its freeze is gone",
		}
	}
	if !r.seen.IsZero() && !r.seen.Equal(freeze.UpdateTime) {
		return nil, changedSince(freeze.UpdateTime)
	}
	after := *freeze
	after.State, after.ReleasedBy, after.ReleasedAt, after.Release = Releasing, r.actor.Name, r.queue.moment(), r.id
	after.DeadLetters = after.DeadLetters[:min(len(after.DeadLetters), ListedMost)]
	r.after = &after
	entry := &Entry{
		ID: r.id, Actor: r.actor.Name, Role: r.actor.Role, Action: ActionRelease, Subject: SubjectFreeze, On: r.aggregateID,
		From: string(freeze.State), To: string(Releasing), Reason: r.reason,
		Outbox: freeze.Outbox, EventID: freeze.EventID, EventType: freeze.EventType, TraceID: freeze.TraceID, AggregateID: r.aggregateID,
	}
	return []Write{{
		Collection: contracts.CollectionFrozen, ID: doc.ID, Op: OpUpdate, IfUnchangedSince: doc.UpdateTime,
		Fields: map[string]any{
			FreezeFieldState: string(Releasing), freezeReleasedBy: after.ReleasedBy, freezeReleasedAt: after.ReleasedAt, freezeRelease: r.id,
			freezeDeadLetters: anySlice(after.DeadLetters),
		},
	}, entry.Write()}, nil
}

// stands reports whether the release was committed, though its freeze does not
// show it any more: the freezer may have been done with it before its answer,
// which was lost, could be looked for.
func (r *releasing) stands(ctx context.Context) (bool, error) {
	if r.after == nil { // nothing was sent yet
		return false, nil
	}
	doc, err := r.queue.get(ctx, contracts.CollectionAudit, r.id)
	return doc.Exists(), err
}
