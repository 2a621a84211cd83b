package workqueue

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

var (
	errStopped = errors.New("the queue stops") // why a handler's context ends at a stop
	// errAbandoned: a document is claimed whose attempts are used up, and none of them
	// has closed it.
	errAbandoned = errors.New("the worker of the last attempt did not come back")
	errExhausted = errors.New("it was pending with its attempts used up: requeue it, so that it has all of them again")
	errLate      = errors.New("the claim took most of its lease")
)

// work sees to one document, which is busy until it returns.
func (q *Queue) work(ctx context.Context, it *item) {
	var again *item
	defer func() {
		q.mu.Lock()
		q.line.end(it.state.path, again, time.Now())
		q.mu.Unlock()
		q.wake()
	}()
	if !q.stagger(ctx, it.state.path) || q.stopping.Load() {
		return
	}
	var c *Claim
	var found state
	err := q.guard(partClaim, func() (err error) { c, found, err = q.claim(ctx, it); return err })
	if errors.Is(err, errRefused) {
		q.refused(it, &found)
		if found.open() {
			again = q.itemOf(found)
		}
		return
	}
	if err != nil {
		q.metrics.claims.WithLabelValues(claimFailed).Inc()
		if ctx.Err() == nil {
			q.metrics.errors.WithLabelValues(partClaim).Inc()
			q.log.Warn("claim", zap.String("document", it.state.path), zap.Error(err))
			again = &item{state: it.state, tenant: it.tenant, last: it.last, at: time.Now().Add(q.tuning.BackoffMax)}
		}
		return
	}
	won := claimWon
	switch {
	case c.unclaimed:
		won = claimFailed
	case c.Reclaimed:
		won = claimReclaimed
	}
	q.metrics.claims.WithLabelValues(won).Inc()
	if !c.unclaimed {
		c.Log.Info("claimed", zap.String("from", q.vocabulary.word(&c.before)), zap.String("status", q.vocabulary.Processing))
	}
	_ = q.guard(partSettle, func() error { again = q.handle(ctx, c); return nil }) // what panics is left to its lease
}

// handle has the handler act, and settles what comes of it. It returns the document
// as it waits for its next attempt.
func (q *Queue) handle(ctx context.Context, c *Claim) *item {
	began := time.Now()
	ctx, end := q.span(ctx, c)
	s, err := q.attempt(ctx, c)
	q.metrics.seconds.Observe(time.Since(began).Seconds())
	if err != nil {
		s = c.back()
	}
	ctx, cancel := q.settling(ctx)
	defer cancel()
	s, after, err := c.close(ctx, s)
	word := s.outcome.Word
	if err != nil {
		word = outcomeLost
	}
	end(word)
	q.told(c, s, after, word, err, time.Since(began))
	if err != nil || !after.pending {
		return nil
	}
	return q.itemOf(after)
}

// told logs and counts the end of a claim.
func (q *Queue) told(c *Claim, s settlement, after state, word string, err error, took time.Duration) {
	q.metrics.outcomes.WithLabelValues(word).Inc()
	fields := []zap.Field{zap.String("result", word), zap.Int("attempts", s.attempt), zap.Int64("latencyMs", took.Milliseconds())}
	if err == nil {
		fields = append(fields, zap.String("from", q.vocabulary.Processing), zap.String("status", s.outcome.Status))
	}
	if s.failure != nil {
		fields = append(fields, zap.String("code", s.failure.Code), zap.Error(s.failure.Err))
	}
	switch {
	case err != nil:
		c.Log.Warn("the end of a claim was not written", append(fields, zap.NamedError("cause", err))...)
	case s.failure != nil:
		c.Log.Warn("attempt failed", fields...)
	default:
		c.Log.Info("handled", fields...)
	}
	if err == nil && !after.open() && !after.created.IsZero() && after.updated.After(after.created) {
		q.metrics.latency.Observe(after.updated.Sub(after.created).Seconds())
	}
}

// attempt has the handler act. An error is none of the attempt: the claim is to be
// given back.
func (q *Queue) attempt(ctx context.Context, c *Claim) (settlement, error) {
	if c.hopeless != nil || c.exhausted() {
		return c.given(), nil
	}
	if !time.Now().Before(c.trusted) {
		return settlement{}, errLate
	}
	ctx, cancel := context.WithDeadlineCause(ctx, c.trusted, context.DeadlineExceeded)
	defer cancel()
	var outcome Outcome
	err := q.guard(partHandler, func() (err error) { outcome, err = q.handler.Handle(ctx, c); return err })
	switch {
	case err == nil:
		return settlement{outcome: outcome, attempt: c.written(), wait: -1}, nil
	case errors.Is(err, ErrLost):
		s := c.back()
		s.outcome.Word = outcomeLost
		return s, nil
	case errors.Is(context.Cause(ctx), errStopped):
		return settlement{}, errStopped
	case errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		err = Coded(CodeTimeout, err)
	}
	return c.failed(failureOf(err, c.Attempt)), nil
}

// back is what is written of a claim that is given back: the document is as it was
// found. One that was reclaimed keeps its status, as who has it next is to know that, and is
// free once a new lease would be over.
func (c *Claim) back() settlement {
	s := settlement{outcome: Outcome{Word: outcomeReturned, Status: c.queue.vocabulary.Pending}, attempt: c.counted, keep: true, wait: -1}
	if c.Reclaimed {
		s.outcome.Status, s.attempt = c.queue.vocabulary.Processing, c.before.attempts
	}
	return s
}

// given is what is written of a document that is given up without an attempt.
func (c *Claim) given() settlement {
	if h, ok := c.queue.handler.(Abandoner); ok && c.Reclaimed {
		if outcome, ok := h.Abandoned(c); ok {
			return settlement{outcome: outcome, attempt: c.counted, wait: -1}
		}
	}
	if c.hopeless != nil {
		return c.failed(failureOf(c.hopeless, c.Attempt))
	}
	if c.Reclaimed {
		return c.failed(failureOf(Coded(CodeAbandoned, errAbandoned), c.counted))
	}
	return c.failed(failureOf(Coded(CodeExhausted, errExhausted), c.counted))
}

// failed is what is written of a failed attempt.
func (c *Claim) failed(f Failure) settlement {
	v := &c.queue.vocabulary
	if f.Permanent || f.Attempts >= c.before.most {
		return settlement{outcome: v.Dead(c, f), attempt: f.Attempts, failure: &f, wait: -1}
	}
	return settlement{outcome: Outcome{Word: outcomeRetry, Status: v.Pending}, attempt: f.Attempts, failure: &f, wait: max(0, v.Backoff(f.Attempts))}
}
