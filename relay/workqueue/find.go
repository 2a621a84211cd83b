package workqueue

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
)

// documents is the query of all documents of the queue, with what state needs.
func (q *Queue) documents() firestore.Query {
	v := &q.vocabulary
	of := q.client.Collection(v.Collection).Query
	if v.Group {
		of = q.client.CollectionGroup(v.Collection).Query
	}
	var fields []string
	for _, f := range []string{
		v.Fields.Status, v.Fields.CreatedAt, v.Fields.Attempts, v.Fields.MaxAttempts, v.Fields.Due,
		v.Fields.LockedAt, v.Fields.LockUntil, v.Fields.Owner,
	} {
		if f != "" {
			fields = append(fields, f)
		}
	}
	return of.Select(fields...)
}

// found puts a document into the line, if it is open, and reports whether it was new.
func (q *Queue) found(snap *firestore.DocumentSnapshot, by string) bool {
	s := q.vocabulary.look(snap)
	if !s.open() {
		return false
	}
	return q.offer(s, by)
}

// offer puts a document into the line as it was read a moment ago.
func (q *Queue) offer(s state, by string) bool {
	if s.processing && s.wait() > 0 {
		return false // a later round looks again
	}
	it := q.itemOf(s)
	take := q.line.hear
	if by == byRound {
		take = q.line.add
	}
	q.mu.Lock()
	added := take(it, time.Now())
	q.mu.Unlock()
	if added {
		q.metrics.found.WithLabelValues(by).Inc()
		q.wake()
	}
	return added
}

func (q *Queue) itemOf(s state) *item {
	tenant, last := q.vocabulary.Tenant(s.path)
	return &item{state: s, tenant: tenant, last: last, at: time.Now().Add(s.wait())}
}

// rounds goes through all open documents, every so often, and at once on through those of a
// tenant whose line runs empty while there is more of it: what others have that waits for a
// later attempt, or itself under earlier names, is not read with each batch.
func (q *Queue) rounds(ctx context.Context) {
	delay := newDelay(q.tuning)
	var due time.Time // of the next round through all
	for ctx.Err() == nil {
		var fresh int
		began := time.Now()
		all := !began.Before(due)
		err := q.guard(partRound, func() (err error) { fresh, err = q.round(ctx, all); return err })
		if all && err == nil {
			due = time.Now().Add(jittered(q.tuning.Every))
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			q.ended(began, fresh, err)
			q.metrics.errors.WithLabelValues(partRound).Inc()
			q.log.Warn("look for work", zap.Error(err))
			due = time.Time{} // what it was to look at is forgotten: the next looks at all
			delay.sleep(ctx)
			continue
		case fresh == 0 && q.hungry():
			q.ended(began, fresh, nil)
			delay.sleep(ctx) // what is left behind is in other hands: no hurry
		default:
			q.ended(began, fresh, nil)
			delay.reset()
		}
		q.untilNextRound(ctx, due)
	}
}

// untilNextRound waits until the next round is wanted, or that through all is due.
func (q *Queue) untilNextRound(ctx context.Context, at time.Time) {
	due := time.NewTimer(time.Until(at))
	defer due.Stop()
	for !q.hungry() {
		select {
		case <-q.hunger:
		case <-due.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (q *Queue) hungry() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.line.hungry()
}

// round goes through the open documents by name, a batch of each tenant, and
// returns how many of them were new. It looks at all, or at what tenants hunger for.
func (q *Queue) round(ctx context.Context, all bool) (fresh int, err error) {
	q.mu.Lock()
	of := q.line.round(all)
	q.mu.Unlock()
	look := roundLook{q: q}
	for _, s := range of {
		if err := q.through(ctx, &look, s); err != nil {
			return look.fresh, err
		}
	}
	if all {
		q.metrics.looked(&look)
	}
	return look.fresh, nil
}

// through looks at the documents of a span; of all where it is empty.
func (q *Queue) through(ctx context.Context, look *roundLook, of span) error {
	v := &q.vocabulary
	open := q.documents().Where(v.Fields.Status, "in", []string{v.Pending, v.Processing}).OrderBy(firestore.DocumentID, firestore.Asc)
	if of.last != "" {
		open = open.EndAt(q.client.Doc(of.last))
	}
	look.end = of.last
	size := q.tuning.Batch + 1 // one more tells that there is more
	for cursor := ""; ; {
		q.room(ctx)
		page := open.Limit(size)
		switch {
		case cursor != "":
			page = page.StartAfter(q.client.Doc(cursor))
		case of.first != "":
			page = page.StartAt(q.client.Doc(of.first))
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		docs, err := page.Documents(call).GetAll()
		cancel()
		if err != nil {
			return err
		}
		q.metrics.reads.WithLabelValues(byRound).Add(float64(max(1, len(docs))))
		full := false
		for _, doc := range docs {
			cursor = relative(doc.Ref)
			if last := look.at(doc); last != "" {
				cursor, full = max(cursor, last), true // a name may stand behind what should be the last: it is passed, too
				break
			}
		}
		if full && of.last != "" || !full && len(docs) < size {
			return nil
		}
	}
}

// room waits until there is room in the line, so that no number of tenants fills the
// memory.
func (q *Queue) room(ctx context.Context) {
	for ctx.Err() == nil {
		q.mu.Lock()
		stalled := q.line.stall()
		q.mu.Unlock()
		if !stalled {
			return
		}
		select {
		case <-q.hunger:
		case <-ctx.Done():
		}
	}
}

// roundLook is how far a round has come.
type roundLook struct {
	q       *Queue
	end     string // path of the last that it looks at; "": it goes through all
	tenant  string
	taken   int // of the tenant
	fresh   int // of all
	stale   int // processing, and their lease has run out
	oldest  time.Duration
	overdue time.Duration
}

// at takes the next document. Where its tenant has had its batch, it returns the last
// path of that tenant.
func (r *roundLook) at(doc *firestore.DocumentSnapshot) (last string) {
	s := r.q.vocabulary.look(doc)
	if !s.open() {
		return ""
	}
	tenant, last := r.q.vocabulary.Tenant(s.path)
	if tenant != r.tenant {
		r.tenant, r.taken = tenant, 0
	}
	if r.taken >= r.q.tuning.Batch {
		r.q.mu.Lock()
		r.q.line.leave(last, span{tenant, s.path, max(s.path, r.end)})
		r.q.mu.Unlock()
		return last
	}
	if s.wait() == 0 {
		r.taken++
		if s.pending && !s.created.IsZero() {
			r.oldest = max(r.oldest, s.read.Sub(s.created))
		}
		r.overdue = max(r.overdue, s.overdue())
		if s.processing {
			r.stale++
		}
	}
	r.q.watch.prove(&s)
	if r.q.offer(s, byRound) {
		r.fresh++
	}
	return ""
}
