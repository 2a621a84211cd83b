package desk

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// actionRequeue is the decision's word in the audit.
const actionRequeue = "requeue"

// Judge tells what a requeue of the document would come to, as things stand.
func (d *Desk) Judge(i *Item, by dlq.Actor) (warning string, refused *dlq.Refusal) {
	v, err := d.view(i.Queue)
	if err != nil {
		return "", dlq.AsRefusal(err)
	}
	if by.Role < dlq.Operator {
		return "", &dlq.Refusal{
			Kind: dlq.Forbidden, Detail: fmt.Sprintf("to have a document tried again needs the role %s, and %s has %s", dlq.Operator, by.Name, by.Role),
			Hint: "ask someone with the role " + dlq.Operator.String(),
		}
	}
	s, known := v.status(i.Status)
	switch {
	case !known:
		return "", &dlq.Refusal{Kind: dlq.Conflict, Detail: fmt.Sprintf("its status %q is none of queue %s", i.Status, i.Queue), Hint: "whoever wrote it has to mend it"}
	case i.Status == v.Vocabulary.Processing:
		return "", processing(i, d.now())
	case !s.Requeues:
		return "", &dlq.Refusal{Kind: dlq.Conflict, Detail: s.Refusal, Hint: s.Hint}
	}
	if v.Warning != nil {
		warning = v.Warning(i.Fields)
	}
	return warning, nil
}

// processing refuses a document that a worker has, or had.
func processing(i *Item, now time.Time) *dlq.Refusal {
	r := &dlq.Refusal{Kind: dlq.Conflict, Detail: "a worker has it", Hint: "wait for its end"}
	if i.Owner != "" {
		r.Detail = i.Owner + " has it"
	}
	if !i.LeaseEnds.IsZero() {
		r.Detail += ", with a lease until " + i.LeaseEnds.UTC().Format(time.RFC3339)
		if now.After(i.LeaseEnds) {
			r.Hint = "its lease has run out: an instance that runs the queue takes it over by itself, within a minute or two"
		}
	}
	return r
}

const (
	maxJudgements = 50 // each that was refused means that somebody else's write went through
	maxUnknown    = 4  // commits in a row of which nothing is known
	pauseMost     = 200 * time.Millisecond
)

// Requeue has a document tried again. Document and audit entry are written by one commit, which
// Firestore refuses if the document has changed since it was judged.
func (d *Desk) Requeue(ctx context.Context, queue, id string, r Requeue) (*Requeued, error) {
	v, err := d.view(queue)
	if err != nil {
		return nil, err
	}
	if r.Reason, err = dlq.ReasonOf(r.Reason); err != nil {
		return nil, err
	}
	ref := d.document(v, id)
	if ref == nil {
		return nil, noDocument(v, id)
	}
	attempt := &requeueing{desk: d, view: v, ref: ref, entry: d.client.Collection(contracts.CollectionAudit).Doc(d.newID()), asked: r}
	unknown := 0
	for range maxJudgements {
		done, err := attempt.try(ctx)
		switch {
		case err == nil:
			d.log.Info("decision about a document of a work queue", zap.String("action", actionRequeue), zap.String("actor", r.Actor.Name),
				zap.String("queue", queue), zap.String("document", id), zap.String("from", done.Entry.From))
			return done, nil
		case dlq.AsRefusal(err) != nil:
			return nil, err
		}
		switch status.Code(err) {
		case codes.FailedPrecondition, codes.Aborted, codes.AlreadyExists, codes.NotFound: // others were faster: judge again
			unknown = 0
		case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.Canceled:
			return nil, fmt.Errorf("requeue document of %s: %w", queue, err)
		default:
			if unknown++; unknown >= maxUnknown {
				return nil, fmt.Errorf("requeue document of %s: %w", queue, err)
			}
		}
		select {
		case <-time.After(rand.N(pauseMost)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, &dlq.Refusal{Kind: dlq.Conflict, Detail: "too many others change it at this moment", Hint: "try again in a moment"}
}

// requeueing is a requeue under way.
type requeueing struct {
	desk  *Desk
	view  *View
	ref   *firestore.DocumentRef
	entry *firestore.DocumentRef // of the audit
	asked Requeue
	done  *Requeued // as a commit would have it whose answer did not come
}

// try judges the document as it stands, and writes once.
func (q *requeueing) try(ctx context.Context) (*Requeued, error) {
	snaps, err := q.desk.client.GetAll(ctx, []*firestore.DocumentRef{q.ref, q.entry})
	if err != nil {
		return nil, err
	}
	if entry := snaps[1]; entry.Exists() && q.done != nil { // the answer of its commit was lost
		q.settled(entry.CreateTime)
		return q.done, nil
	}
	if !snaps[0].Exists() {
		return nil, noDocument(q.view, relative(q.ref))
	}
	item := q.view.whole(snaps[0])
	if seen := q.asked.Seen; !seen.IsZero() && !seen.Equal(item.UpdatedAt) {
		return nil, &dlq.Refusal{
			Kind: dlq.Changed, Detail: "it was changed since you looked at it, at " + item.UpdatedAt.UTC().Format("2006-01-02 15:04:05Z"), Hint: "look at it again, then decide",
		}
	}
	warning, refused := q.desk.Judge(item, q.asked.Actor)
	if refused != nil {
		return nil, refused
	}
	entry := &dlq.Entry{
		ID: q.entry.ID, Actor: q.asked.Actor.Name, Role: q.asked.Actor.Role, Action: actionRequeue, Subject: dlq.SubjectQueueItem, On: item.ID,
		From: item.Status, To: q.view.Vocabulary.Pending, Reason: q.asked.Reason, EventID: item.About["eventId"], EventType: item.About["eventType"],
	}
	item.Status, item.Attempts = q.view.Vocabulary.Pending, 0
	q.done = &Requeued{Item: item, Entry: entry, Warning: warning}
	results, err := q.batch(snaps[0], entry).Commit(ctx)
	if err != nil {
		return nil, err
	}
	q.settled(results[0].UpdateTime)
	return q.done, nil
}

func (q *requeueing) batch(snap *firestore.DocumentSnapshot, entry *dlq.Entry) *firestore.WriteBatch { //nolint:staticcheck // one atomic commit, on a condition
	fields := entry.Write().Fields
	for name, value := range fields {
		if _, ok := value.(dlq.ServerTime); ok {
			fields[name] = firestore.ServerTimestamp
		}
	}
	updates := append(q.view.Vocabulary.Reset(), q.view.Requeued...)
	return q.desk.client.Batch().Update(q.ref, updates, firestore.LastUpdateTime(snap.UpdateTime)).Create(q.entry, fields) //nolint:staticcheck // see above
}

// settled notes when it was written. The timestamps in fields are a few milliseconds
// earlier: the server takes them as the request comes. The next attempt is due at once.
func (q *requeueing) settled(at time.Time) {
	q.done.Item.UpdatedAt, q.done.Item.DueAt, q.done.Entry.At = at, time.Time{}, at
}
