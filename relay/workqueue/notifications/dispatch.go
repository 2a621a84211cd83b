package notifications

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/dlq/firestore/lastanswer"
	"outboxrelay/relay/firestore/readable"
	"outboxrelay/relay/workqueue"
)

// Result is what became of an attempt, as the log and the metrics call it.
type Result string

// The results.
const (
	Emitted Result = "emitted"
	Deduped Result = "deduped"
	Retry   Result = "retry"
	Failed  Result = "failed"
)

// dispatch is one attempt at one event, by one worker. Its commits are all alike: each
// reads how far the queue document says that the event is, and writes what comes next,
// with that word, on the condition that the event and the queue document are as they were
// read. So a commit whose answer was lost, and an attempt that was cut short
// anywhere, are gone on from by reading, and a notification that a person has deleted
// since it was written is not written again. No lock is held while it reads.
type dispatch struct {
	client    *firestore.Client
	settings  Settings
	event     event
	ref       *firestore.DocumentRef
	token     string         // of the claim: the event's workerId
	createdAt time.Time      // of the event, by the server's clock; zero: that of its document
	committed func(progress) // is told of each commit; not nil

	recipients []string // once they are known
	alone      bool     // nobody's queue document has the key without a marker
	begun      bool     // the queue document was seen or written
	careful    bool     // a notification stands where none should: look before writing
}

// progress is what one commit did.
type progress struct {
	result     Result // "" unless it closed the event
	recipients int
	done       int           // of the recipients, from where the commit began
	written    int           // notifications, fewer than done where some were there
	at         time.Time     // when the event was closed, by the server's clock
	latency    time.Duration // from its creation until then
}

// run dispatches the event and returns what its last commit did, with the sum of what all have
// written. The event is closed then, unless there is an error.
func (d *dispatch) run(ctx context.Context) (sum progress, err error) {
	for sum.result == "" {
		did, err := d.commit(ctx)
		if err != nil {
			return sum, err
		}
		d.begun = true
		d.committed(did)
		did.written += sum.written
		sum = did
	}
	return sum, nil
}

// How often a commit that met others is made again, and how long at most it waits for the
// first of those. An attempt is not spent on that.
const (
	meetings     = 8
	meetingDelay = 20 * time.Millisecond
)

// commit makes the next commit.
func (d *dispatch) commit(ctx context.Context) (did progress, err error) {
	for n := range meetings {
		if did, err = d.step(ctx); !met(err) {
			return did, err
		}
		d.careful = d.careful || status.Code(err) == codes.AlreadyExists
		select {
		case <-ctx.Done():
			return did, ctx.Err()
		case <-time.After(rand.N(meetingDelay << n)):
		}
	}
	return did, err
}

// met reports whether a commit was refused because what was read before it has changed
// since, be it by an earlier try of the same commit, whose answer was lost.
func met(err error) bool {
	switch status.Code(err) {
	case codes.Aborted, codes.AlreadyExists, codes.FailedPrecondition, codes.NotFound:
		return true
	}
	return false
}

// step is one commit: the queue document if there is none, as many notifications as
// fit, and with the last of them the event's end.
func (d *dispatch) step(ctx context.Context) (progress, error) {
	refs := []*firestore.DocumentRef{d.ref, d.queueRef()}
	if !d.begun && d.dedupes() {
		refs = append(refs, d.markerRef())
	}
	snaps, err := d.client.GetAll(ctx, refs)
	if err != nil {
		return progress{}, fmt.Errorf("read the event: %w", err)
	}
	if d.createdAt.IsZero() {
		d.createdAt = snaps[0].CreateTime
	}
	if done, err := d.stands(snaps[0]); err != nil || done.result != "" {
		return done, err
	}
	w := &writes{batch: d.client.Batch(), event: snaps[0], now: snaps[0].ReadTime} //nolint:staticcheck // one atomic commit, on conditions
	var did progress
	switch {
	case snaps[1].Exists():
		did, err = d.next(ctx, w, snaps[1])
	case len(refs) > 2:
		var twin string
		if twin, err = d.twin(ctx, snaps[2], w.now); err != nil {
			break
		}
		if twin != "" {
			did = progress{result: Deduped, at: w.now, latency: d.latency(w.now)}
			d.close(w, twin, did)
			break
		}
		did, err = d.begin(ctx, w, snaps[2])
	default:
		did, err = d.begin(ctx, w, nil)
	}
	if err != nil {
		return progress{}, err
	}
	ctx, last := lastanswer.Keep(ctx)
	_, err = w.batch.Commit(ctx)
	return did, last.Explain(err)
}

// writes is a commit in the making.
type writes struct {
	batch *workqueue.Batch
	event *firestore.DocumentSnapshot // as it was read
	now   time.Time                   // when that was
}

// stands reports workqueue.ErrLost unless the event is still this claim's. One that this
// claim has closed, by a commit whose answer was lost, has its result.
func (d *dispatch) stands(event *firestore.DocumentSnapshot) (done progress, err error) {
	if !event.Exists() {
		return done, workqueue.ErrLost
	}
	data, _ := readable.Parts(event, []string{fieldWorkerID, fieldStatus, fieldQueueID})
	mine := data[fieldWorkerID] == d.token
	switch {
	case mine && data[fieldStatus] == StatusProcessing:
		return done, nil
	case mine && data[fieldStatus] == StatusEmitted:
		done = progress{result: Deduped, at: event.UpdateTime, latency: d.latency(event.UpdateTime)}
		if data[fieldQueueID] == d.queueRef().ID {
			done.result, done.recipients = Emitted, len(d.recipients)
		}
		return done, nil
	}
	return done, workqueue.ErrLost
}

// begin settles whom the event is for. marker is that of its key; nil: it has none.
func (d *dispatch) begin(ctx context.Context, w *writes, marker *firestore.DocumentSnapshot) (progress, error) {
	if d.recipients == nil { // a commit that is made again need not ask again
		found, err := recipients(ctx, d.client, d.event)
		if err != nil {
			return progress{}, err
		}
		if err := checkRecipients(found); err != nil {
			return progress{}, err
		}
		d.recipients = found
	}
	did, err := d.write(ctx, w, d.recipients, 0)
	if err != nil {
		return progress{}, err
	}
	w.batch.Create(d.queueRef(), d.queueFields(d.recipients, did.done))
	if marker != nil {
		d.mark(w, marker)
	}
	d.end(w, did)
	return did, nil
}

// next goes on from where the queue document stands. Its recipients count, whoever
// would be found today.
func (d *dispatch) next(ctx context.Context, w *writes, queue *firestore.DocumentSnapshot) (progress, error) {
	standing, err := d.standing(queue)
	if err != nil {
		return progress{}, err
	}
	d.recipients = standing.recipients
	did, err := d.write(ctx, w, standing.recipients, standing.written)
	if err != nil {
		return progress{}, err
	}
	if did.done > 0 {
		update := []firestore.Update{{Path: fieldWritten, Value: standing.written + did.done}}
		w.batch.Update(queue.Ref, update, firestore.LastUpdateTime(queue.UpdateTime))
	}
	d.end(w, did)
	return did, nil
}

// write adds the notifications from that recipient on to the commit.
func (d *dispatch) write(ctx context.Context, w *writes, to []string, from int) (progress, error) {
	chunk := to[from:min(len(to), from+d.chunk())]
	did := progress{recipients: len(to), done: len(chunk)}
	if from+len(chunk) == len(to) {
		did.result, did.at, did.latency = Emitted, w.now, d.latency(w.now)
	}
	there, err := d.there(ctx, chunk)
	if err != nil {
		return progress{}, err
	}
	fields := d.bellFields()
	for i, user := range chunk {
		if !there[i] {
			w.batch.Create(d.bellRef(user), fields)
			did.written++
		}
	}
	return did, nil
}

// there reports which of the recipients have the notification. That is asked only after
// one was found where the queue document knew of none.
func (d *dispatch) there(ctx context.Context, users []string) ([]bool, error) {
	there := make([]bool, len(users))
	if !d.careful || len(users) == 0 {
		return there, nil
	}
	refs := make([]*firestore.DocumentRef, len(users))
	for i, user := range users {
		refs[i] = d.bellRef(user)
	}
	snaps, err := d.client.GetAll(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("look for notifications: %w", err)
	}
	for i, s := range snaps {
		there[i] = s.Exists()
	}
	return there, nil
}

// end adds what a commit of notifications ends in: the event's end if it is the last, or
// else a write of the event that changes nothing, as its condition is that the claim
// stands; and what the tenant's figures of the hour gain.
func (d *dispatch) end(w *writes, did progress) {
	if did.result != "" {
		d.close(w, d.queueRef().ID, did)
		return
	}
	w.batch.Update(d.ref, []firestore.Update{{Path: fieldWorkerID, Value: d.token}}, firestore.LastUpdateTime(w.event.UpdateTime))
	addStats(w.batch, d.client, d.event.tenant, w.now, Stats{NotificationsWritten: int64(did.written)})
}

// close ends the event: its people have what that queue document says.
func (d *dispatch) close(w *writes, queueID string, did progress) {
	w.batch.Update(d.ref, []firestore.Update{
		{Path: fieldStatus, Value: StatusEmitted},
		{Path: fieldLockUntil, Value: nil},
		{Path: fieldNextRetryAt, Value: nil},
		{Path: fieldProcessedAt, Value: firestore.ServerTimestamp},
		{Path: fieldLastError, Value: nil},
		{Path: fieldLastErrorCode, Value: nil},
		{Path: fieldQueueID, Value: queueID},
	}, firestore.LastUpdateTime(w.event.UpdateTime))
	gain := Stats{ProcessedEvents: 1, NotificationsWritten: int64(did.written), DispatchLatency: did.latency}
	if did.result == Deduped {
		gain.DedupedEvents = 1
	}
	addStats(w.batch, d.client, d.event.tenant, w.now, gain)
}

// latency is the event's age.
func (d *dispatch) latency(now time.Time) time.Duration { return max(0, now.Sub(d.createdAt)) }

// code is one bounded word for an error of a dispatch.
func code(err error) (word string, permanent bool) {
	for _, known := range []struct {
		err  error
		word string
	}{
		{errInvalid, "INVALID_EVENT"},
		{errTooMany, "AUDIENCE_TOO_LARGE"},
		{errTaken, "QUEUE_ID_TAKEN"},
	} {
		if errors.Is(err, known.err) {
			return known.word, true
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "TIMEOUT", false
	}
	if c := status.Code(err); c != codes.Unknown && c != codes.OK {
		return statusWord(c), false
	}
	return "FAILED", false
}
