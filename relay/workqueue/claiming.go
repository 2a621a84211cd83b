package workqueue

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/dlq/firestore/lastanswer"
	"outboxrelay/relay/firestore/readable"
)

// errRefused is the end of a claim of a document that is not to be claimed now.
var errRefused = errors.New("the document is not to be claimed now")

// claimTries is how often a claim is sent whose answers are lost. What is left
// alone then has its lease run out, if one was applied after all.
const claimTries = 4

// claim claims a document. Refused, it returns errRefused and the document as it is.
func (q *Queue) claim(ctx context.Context, it *item) (*Claim, state, error) {
	c := &Claim{
		Ref: it.state.ref, Path: it.state.path, Tenant: it.tenant, queue: q,
		Token: fmt.Sprintf("%s/%d", q.instance, q.claims.Add(1)),
	}
	c.Log = q.log.With(zap.String("document", c.Path), zap.String("tenant", c.Tenant), zap.String("claim", c.Token))
	c.trusted = time.Now().Add(q.vocabulary.Term / 5 * 4)
	delay := newDelay(q.tuning)
	for try := 1; ; try++ {
		found, err := q.take(ctx, c)
		switch {
		case err == nil:
			c.Log = c.Log.With(c.named()...)
			return c, found, nil
		case errors.Is(err, errRefused):
			return nil, found, errRefused
		case outdated(err) && try < claimTries:
			continue // read it again at once
		case status.Code(err) == codes.InvalidArgument && !found.read.IsZero(): // of the write, as by a document without room for it
			c.hopeless, c.unclaimed = Permanent(CodeUnwritable, err), true
			c.Log = c.Log.With(c.named()...)
			return c, found, nil
		case ctx.Err() != nil || try == claimTries:
			return nil, found, fmt.Errorf("claim %s: %w", c.Path, err)
		}
		delay.sleep(ctx)
	}
}

// take tries once: it reads the document and writes the claim, by a commit that
// Firestore refuses if the document has changed in between.
func (q *Queue) take(ctx context.Context, c *Claim) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	v := &q.vocabulary
	snap, err := q.read(ctx, c.Ref)
	if err != nil {
		return state{}, err
	}
	if !snap.Exists() {
		return state{path: c.Path}, errRefused
	}
	found := v.look(snap)
	if found.processing && found.owner == c.Token {
		return found, nil // an earlier try was applied, and its answer lost
	}
	if !found.open() || found.wait() > 0 {
		return found, errRefused
	}
	if c.Data, c.hopeless = readable.Fields(snap, v.Logged); c.hopeless != nil {
		c.hopeless = Permanent(CodeUnreadable, c.hopeless)
	}
	c.ClaimedAt, c.before, c.Reclaimed = found.read, found, found.processing
	c.counted = found.attempts
	if v.Counts == AtFailure && c.Reclaimed {
		c.counted++
	}
	c.Attempt = c.counted + 1
	set := fieldUpdates{}
	set.put(v.Fields.Status, v.Processing)
	set.put(v.Fields.LockedAt, firestore.ServerTimestamp)
	set.put(v.Fields.LockUntil, found.read.Add(v.Term))
	set.put(v.Fields.Owner, c.Token)
	set.put(v.Fields.Attempts, c.written())
	set.put(v.Fields.UpdatedAt, firestore.ServerTimestamp)
	ctx, last := lastanswer.Keep(ctx)
	_, err = c.Ref.Update(ctx, set.list, firestore.LastUpdateTime(snap.UpdateTime))
	return found, last.Explain(err)
}

// named are the attempt and what the vocabulary has logged of a document.
func (c *Claim) named() []zap.Field {
	fields := []zap.Field{zap.Int("attempt", c.Attempt)}
	for _, name := range c.queue.vocabulary.Logged {
		text, _ := c.Data[name].(string)
		fields = append(fields, zap.String(name, Clip(text, maxError)))
	}
	return fields
}

// written is how many attempts are counted while the handler has not failed.
func (c *Claim) written() int {
	if c.queue.vocabulary.Counts == AtClaim {
		return c.Attempt
	}
	return c.counted
}

// exhausted reports whether the attempts were used up before this claim.
func (c *Claim) exhausted() bool { return c.counted >= c.before.most }

// stands judges the claim's document as it was read. Where the claim does not stand,
// the error is ErrLost.
func (c *Claim) stands(snap *firestore.DocumentSnapshot) (state, error) {
	if !snap.Exists() {
		return state{}, ErrLost
	}
	now := c.queue.vocabulary.look(snap)
	if c.unclaimed && now.updated.Equal(c.before.updated) {
		return now, nil
	}
	if !now.processing || now.owner != c.Token {
		return now, ErrLost
	}
	return now, nil
}

// read reads a document. One that is not there is no error.
func (q *Queue) read(ctx context.Context, ref *firestore.DocumentRef) (*firestore.DocumentSnapshot, error) {
	snaps, err := q.client.GetAll(ctx, []*firestore.DocumentRef{ref})
	if err != nil {
		return nil, err
	}
	return snaps[0], nil
}

// outdated reports whether a commit was refused as what was read before it has
// changed since, be it by an earlier try of the same commit whose answer was lost.
func outdated(err error) bool {
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.AlreadyExists, codes.NotFound, codes.Aborted:
		return true
	}
	return false
}

// contention is how long a race that was lost to another instance makes this one
// wait before its claims.
const contention = 10 * time.Second

// stagger waits before a claim while other instances are known to race for the same
// documents: for each document a time that is this instance's own. It reports false if the document was
// claimed meanwhile.
func (q *Queue) stagger(ctx context.Context, path string) bool {
	if time.Now().UnixNano()-q.raceLost.Load() > int64(contention) {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(q.instance + "\x00" + path)) // never fails
	sleep(ctx, time.Duration(h.Sum64()%uint64(q.tuning.Stagger+1)))
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.line.isGone(path)
}

// refused notes a claim that was refused. What another instance took was a race.
func (q *Queue) refused(it *item, now *state) {
	q.metrics.claims.WithLabelValues(claimRefused).Inc()
	if !now.updated.Equal(it.state.updated) && now.owner != it.state.owner && !strings.HasPrefix(now.owner, q.instance+"/") {
		q.raceLost.Store(time.Now().UnixNano())
	}
}

// fieldUpdates collects updates. A later one of a field takes the place of an earlier.
type fieldUpdates struct{ list []firestore.Update }

// put sets a field, unless the vocabulary has none of that kind.
func (u *fieldUpdates) put(field string, value any) {
	if field != "" {
		u.add(firestore.Update{FieldPath: firestore.FieldPath{field}, Value: value})
	}
}

func (u *fieldUpdates) add(update firestore.Update) {
	name := strings.Join(update.FieldPath, "\x00")
	if len(update.FieldPath) == 0 {
		name = strings.ReplaceAll(update.Path, ".", "\x00")
	}
	for i, other := range u.list {
		if strings.Join(other.FieldPath, "\x00") == name {
			u.list[i].Value = update.Value
			return
		}
	}
	u.list = append(u.list, update)
}
