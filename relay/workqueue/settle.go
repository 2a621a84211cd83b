package workqueue

import (
	"context"
	"errors"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"

	"outboxrelay/dlq/firestore/lastanswer"
)

// maxError is how much of an error is kept in a document, in bytes.
const maxError = 1 << 10

// settlement is what is to be written of a claim.
type settlement struct {
	outcome Outcome
	attempt int           // to be written as attempts
	failure *Failure      // nil: there is no error to keep, and none is cleared where keep is set
	keep    bool          // leave the error fields as they are
	wait    time.Duration // due so long after it is written; negative: left as it is
	bare    bool          // of the document as little as closes it
}

// settle writes s, unless the claim is lost, and returns the document's state after
// it. It tries until it knows what stands there, or ctx ends.
func (c *Claim) settle(ctx context.Context, s settlement) (state, error) {
	if at := s.outcome.ClosedAt; !at.IsZero() {
		after := c.before
		after.pending, after.processing, after.updated = false, false, at
		return after, nil
	}
	delay := newDelay(c.queue.tuning)
	for {
		after, err := c.write(ctx, s)
		switch {
		case err == nil, errors.Is(err, ErrLost), ctx.Err() != nil, unwritable(err):
			return after, err
		case outdated(err):
			delay.sleep(ctx)
			continue
		}
		c.queue.metrics.errors.WithLabelValues(partSettle).Inc()
		c.Log.Warn("settle", zap.Error(err))
		delay.sleep(ctx)
	}
}

// write tries once: it reads the document and writes all, by a commit that Firestore
// refuses if the document has changed in between.
func (c *Claim) write(ctx context.Context, s settlement) (state, error) {
	q := c.queue
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	refs := []*firestore.DocumentRef{c.Ref}
	for _, other := range s.outcome.Creates {
		refs = append(refs, other.Ref)
	}
	snaps, err := q.client.GetAll(ctx, refs)
	if err != nil {
		return state{}, err
	}
	now, err := c.stands(snaps[0])
	if errors.Is(err, ErrLost) && now.owner == c.Token {
		return now, nil // an earlier try was applied, and its answer lost: the token stays when a claim ends
	}
	if err != nil {
		return now, err
	}
	set := c.fields(s, now.read)
	batch := q.client.Batch().Update(c.Ref, set.list, firestore.LastUpdateTime(snaps[0].UpdateTime)) //nolint:staticcheck // one atomic commit without reads is what it is for
	for i, other := range s.outcome.Creates {
		if !snaps[i+1].Exists() {
			batch.Create(other.Ref, other.Data)
		}
	}
	if s.outcome.Within != nil {
		s.outcome.Within(batch)
	}
	ctx, last := lastanswer.Keep(ctx)
	results, err := batch.Commit(ctx)
	if err != nil {
		return now, last.Explain(err)
	}
	now.processing, now.pending, now.attempts = s.outcome.Status == q.vocabulary.Processing, s.outcome.Status == q.vocabulary.Pending, s.attempt
	now.due, now.updated = c.before.due, results[0].UpdateTime
	if s.wait >= 0 {
		now.due = now.read.Add(s.wait)
	}
	return now, nil
}

// fields are the updates of the claim's document. The token stays: it names who had
// the document last.
func (c *Claim) fields(s settlement, read time.Time) fieldUpdates {
	v := &c.queue.vocabulary
	set := fieldUpdates{}
	set.put(v.Fields.Status, s.outcome.Status)
	if c.unclaimed && s.bare {
		return set // there may be no room for more
	}
	set.put(v.Fields.Attempts, s.attempt)
	set.put(v.Fields.LockedAt, nil)
	set.put(v.Fields.LockUntil, nil)
	switch {
	case s.bare:
	case s.failure != nil:
		set.put(v.Fields.LastError, Clip(s.failure.Err.Error(), maxError))
		set.put(v.Fields.LastErrorCode, s.failure.Code)
	case !s.keep:
		set.put(v.Fields.LastError, nil)
		set.put(v.Fields.LastErrorCode, nil)
	}
	if s.wait >= 0 {
		set.put(v.Fields.Due, read.Add(s.wait))
	}
	if s.bare {
		return set
	}
	set.put(v.Fields.UpdatedAt, firestore.ServerTimestamp)
	for _, u := range s.outcome.Updates {
		set.add(u)
	}
	return set
}
