package dlq

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// What is done with bulk replays, as actions in the audit.
const (
	actionStart  = "start"
	actionCancel = "cancel"
	actionFinish = "finish"
	actionStop   = "stop"
)

// maxBulkReason leaves room for what the reason of each request begins with.
const maxBulkReason = 900

// maxKey bounds the key of a request, in bytes.
const maxKey = 200

// StartBulk selects what the filter matches now, or the IDs name, pins it, and
// begins to replay it. What matches later is none of it, and what changes
// meanwhile is passed over. A request with a key that the actor has sent before
// is answered with what it started then.
func (q *Queue) StartBulk(ctx context.Context, r BulkRequest) (*Bulk, error) {
	if err := r.check(q.catalog); err != nil {
		return nil, err
	}
	if r.Key == "" {
		return q.startNew(ctx, r)
	}
	if b, err := q.startedBy(ctx, r); b != nil || err != nil {
		return b, err
	}
	b, err := q.startNew(ctx, r)
	if AsRefusal(err) != nil { // the other of two that were sent at once may have taken it all
		if other, lookErr := q.startedBy(ctx, r); other != nil || lookErr != nil {
			return other, lookErr
		}
	}
	return b, err
}

// startedBy returns the bulk replay that a request with the same key started;
// nil when there was none.
func (q *Queue) startedBy(ctx context.Context, r BulkRequest) (*Bulk, error) {
	doc, err := q.get(ctx, contracts.CollectionReplays, r.id())
	if err != nil {
		return nil, fmt.Errorf("look for the bulk replay of the same request: %w", err)
	}
	if !doc.Exists() {
		return nil, nil
	}
	return r.same(decodeBulk(doc))
}

// same returns a bulk replay that was started by the request's key, unless
// something else was ordered by it.
func (r *BulkRequest) same(b *Bulk) (*Bulk, error) {
	if b.Order != r.order() {
		return nil, &Refusal{Kind: Conflict, Detail: "this request's key started another bulk replay, " + b.ID, Hint: "use a new key for each bulk replay"}
	}
	return b, nil
}

// id is the bulk replay's that a request with a key starts.
func (r *BulkRequest) id() string {
	return uuid.NewHash(sha256.New(), uuid.Nil, []byte(r.Actor.Name+"\x00"+r.Key), 8).String()
}

// order is a hash of what is ordered.
func (r *BulkRequest) order() string {
	data, _ := json.Marshal(struct { // texts, times and a number that was checked
		Filter Filter
		IDs    []string
		Rate   float64
		Reason string
	}{r.Filter, slices.Sorted(slices.Values(r.IDs)), r.RatePerSecond, r.Reason})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func (q *Queue) startNew(ctx context.Context, r BulkRequest) (*Bulk, error) {
	selection, err := q.Select(ctx, r.Filter, r.IDs...)
	if err != nil {
		return nil, err
	}
	if err := selection.fits(r.Pin); err != nil {
		return nil, err
	}
	if len(selection.Items) == 0 {
		return nil, &Refusal{Kind: Invalid, Detail: "nothing of it can be replayed in bulk", Hint: "try it as a dry run"}
	}
	pins := make([]Pin, len(selection.Items))
	for n, i := range selection.Items {
		pins[n] = PinOf(i)
	}
	b := &Bulk{
		State: BulkRunning, Phase: PhaseCanary, Filter: r.Filter, Picked: len(r.IDs) > 0, RatePerSecond: r.RatePerSecond, By: r.Actor, Reason: r.Reason,
		CreatedAt: q.moment(), Total: len(pins), Waiting: len(pins), Pinned: q.newID(),
	}
	b.ID = b.Pinned
	if r.Key != "" {
		b.ID, b.Order = r.id(), r.order()
	}
	for _, w := range chunks(b.Pinned, pins) { // before the bulk replay itself: a crash in between leaves nothing that anybody sees
		if _, err := q.commit(ctx, once(w)); err != nil {
			return nil, fmt.Errorf("pin items of bulk replay: %w", err)
		}
	}
	stands, err := q.createBulk(ctx, b)
	switch {
	case err != nil:
		return nil, fmt.Errorf("start bulk replay: %w", err)
	case stands.Pinned != b.Pinned: // another that was sent at the same time
		return r.same(stands)
	}
	q.log.Info("bulk replay started", zap.String("bulk", b.ID), zap.String("actor", b.By.Name), zap.Int("items", b.Total))
	q.Ring(BellBulk)
	return stands, nil
}

// once is a change that may be repeated as it is.
func once(w Write) change {
	return func(context.Context) ([]Write, error) { return []Write{w}, nil }
}

// check fills in what was left out.
func (r *BulkRequest) check(catalog *contracts.Catalog) error {
	if r.Actor.Role < Operator {
		return forbidden(r.Actor, Operator, "to replay in bulk")
	}
	if len(r.Key) > maxKey {
		return &Refusal{Kind: Invalid, Detail: fmt.Sprintf("the request's key has %d bytes, more than %d", len(r.Key), maxKey), Hint: "a UUID will do"}
	}
	reason, err := optionalReason(r.Reason)
	if err != nil {
		return err
	}
	r.Reason = reason
	if len(r.Reason) > maxBulkReason {
		return &Refusal{Kind: Invalid, Detail: fmt.Sprintf("the reason has %d bytes, more than %d", len(r.Reason), maxBulkReason), Hint: "shorten it"}
	}
	if r.RatePerSecond == 0 {
		r.RatePerSecond = min(catalog.Replay.RatePerSecond, MaxBulkRate)
	}
	if math.IsNaN(r.RatePerSecond) || r.RatePerSecond <= 0 || r.RatePerSecond > MaxBulkRate {
		return &Refusal{Kind: Invalid, Detail: fmt.Sprintf("a rate of %g items a second is not above 0 and at most %d", r.RatePerSecond, MaxBulkRate)}
	}
	return nil
}

// createBulk returns the bulk replay that stands under b's ID: b, unless another
// was faster.
func (q *Queue) createBulk(ctx context.Context, b *Bulk) (*Bulk, error) {
	fields, err := b.created()
	if err != nil {
		return nil, err
	}
	entry := b.entry(b.ID, b.By, actionStart, "", BulkRunning, fmt.Sprintf("%d items: %s", b.Total, b.Reason))
	stands := b
	at, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := q.get(ctx, contracts.CollectionReplays, b.ID)
		if err != nil {
			return nil, err
		}
		if doc.Exists() { // another's, or ours: the answer of its commit was lost
			stands = decodeBulk(doc)
			return nil, nil
		}
		return []Write{{Collection: contracts.CollectionReplays, ID: b.ID, Op: OpCreate, Fields: fields}, entry.Write()}, nil
	})
	if !at.IsZero() {
		b.CreatedAt, b.UpdateTime = q.began(ctx, b.ID, at), at
	}
	return stands, err
}

// began is the moment that the server put into a new bulk replay's document: a few
// milliseconds before the commit, which stands for it where it cannot be read.
func (q *Queue) began(ctx context.Context, id string, committed time.Time) time.Time {
	doc, err := q.get(ctx, contracts.CollectionReplays, id)
	if err != nil || !doc.Exists() { // the bulk replay stands; who asked is told what is known
		q.log.Warn("read when a bulk replay began", zap.String("bulk", id), zap.Error(err))
		return committed
	}
	return decodeBulk(doc).CreatedAt
}

// entry is an audit entry about the bulk replay.
func (b *Bulk) entry(id string, by Actor, action string, from, to BulkState, reason string) *Entry {
	return &Entry{
		ID: id, Actor: by.Name, Role: by.Role, Action: action, Subject: SubjectBulk, On: b.ID, From: string(from), To: string(to), Reason: clip(reason),
	}
}
