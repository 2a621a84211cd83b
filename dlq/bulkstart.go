package dlq

import (
	"context"
	"fmt"
	"math"
	"strings"

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

// StartBulk selects what the filter matches now, pins it, and begins to replay
// it. What matches later is none of it, and what changes meanwhile is passed
// over.
func (q *Queue) StartBulk(ctx context.Context, r BulkRequest) (*Bulk, error) {
	if err := r.check(q.catalog); err != nil {
		return nil, err
	}
	selection, err := q.Select(ctx, r.Filter)
	if err != nil {
		return nil, err
	}
	if len(selection.Items) == 0 {
		return nil, &Refusal{Kind: Invalid, Detail: "the filter matches nothing that can be replayed in bulk", Hint: "try it as a dry run"}
	}
	pins := make([]pin, len(selection.Items))
	for n, i := range selection.Items {
		pins[n] = pinOf(i)
	}
	b := &Bulk{
		ID: q.newID(), State: BulkRunning, Phase: PhaseCanary, Filter: r.Filter, RatePerSecond: r.RatePerSecond, By: r.Actor, Reason: r.Reason,
		CreatedAt: q.moment(), Total: len(pins), Waiting: len(pins),
	}
	for _, w := range chunks(b.ID, pins) { // before the bulk replay itself: a crash in between leaves nothing that anybody sees
		if _, err := q.commit(ctx, once(w)); err != nil {
			return nil, fmt.Errorf("pin items of bulk replay: %w", err)
		}
	}
	if err := q.createBulk(ctx, b); err != nil {
		return nil, fmt.Errorf("start bulk replay: %w", err)
	}
	q.log.Info("bulk replay started", zap.String("bulk", b.ID), zap.String("actor", b.By.Name), zap.Int("items", b.Total))
	q.Ring(BellBulk)
	return b, nil
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
	r.Reason = strings.TrimSpace(r.Reason)
	if r.Reason == "" {
		r.Reason = "none given"
	}
	if _, err := reasonOf(r.Reason); err != nil {
		return err
	}
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

func (q *Queue) createBulk(ctx context.Context, b *Bulk) error {
	fields, err := b.created()
	if err != nil {
		return err
	}
	entry := b.entry(b.ID, b.By, actionStart, "", BulkRunning, fmt.Sprintf("%d items: %s", b.Total, b.Reason))
	at, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := q.get(ctx, contracts.CollectionReplays, b.ID)
		if err != nil || doc.Exists() { // the answer of its commit was lost
			b.UpdateTime = doc.UpdateTime
			return nil, err
		}
		return []Write{{Collection: contracts.CollectionReplays, ID: b.ID, Op: OpCreate, Fields: fields}, entry.Write()}, nil
	})
	if !at.IsZero() {
		b.CreatedAt, b.UpdateTime = at, at
	}
	return err
}

// entry is an audit entry about the bulk replay.
func (b *Bulk) entry(id string, by Actor, action string, from, to BulkState, reason string) *Entry {
	return &Entry{
		ID: id, Actor: by.Name, Role: by.Role, Action: action, Subject: SubjectBulk, On: b.ID, From: string(from), To: string(to), Reason: clip(reason),
	}
}

// Bulk reads a bulk replay. Its numbers are a second old at most while it runs.
func (q *Queue) Bulk(ctx context.Context, id string) (*Bulk, error) {
	doc, err := q.get(ctx, contracts.CollectionReplays, id)
	if err != nil {
		return nil, fmt.Errorf("read bulk replay: %w", err)
	}
	if !doc.Exists() {
		return nil, &Refusal{Kind: NotFound, Detail: fmt.Sprintf("there is no bulk replay %q", id), Hint: "list the bulk replays to find its ID"}
	}
	return decodeBulk(doc), nil
}

// latestBulk is the order of the list of bulk replays.
var latestBulk = []Order{{bulkCreatedAt, true}, {FieldID, true}}

// Bulks reads one page of the bulk replays, the latest first.
func (q *Queue) Bulks(ctx context.Context, p Page) (Paged[*Bulk], error) {
	query := Query{Collection: contracts.CollectionReplays, OrderBy: latestBulk}
	return page(ctx, q, "bulk replays", query, nil, p, decodeBulk)
}

// CancelBulk ends a bulk replay: it asks for nothing more, and what it asked
// for ends by itself. The reason may be left out.
func (q *Queue) CancelBulk(ctx context.Context, id string, a Actor, reason string) (*Bulk, error) {
	if a.Role < Operator {
		return nil, forbidden(a, Operator, "to cancel a bulk replay")
	}
	if strings.TrimSpace(reason) == "" {
		reason = "none given"
	}
	reason, err := reasonOf(reason)
	if err != nil {
		return nil, err
	}
	var after *Bulk
	decision, now := q.newID(), q.moment()
	at, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := q.get(ctx, contracts.CollectionReplays, id)
		if err != nil {
			return nil, err
		}
		if !doc.Exists() {
			return nil, &Refusal{Kind: NotFound, Detail: fmt.Sprintf("there is no bulk replay %q", id), Hint: "list the bulk replays to find its ID"}
		}
		after = decodeBulk(doc)
		if reading(doc.Fields).text(bulkCancel) == decision { // the answer of its commit was lost
			return nil, nil
		}
		if after.State != BulkRunning {
			return nil, &Refusal{Kind: Conflict, Detail: fmt.Sprintf("it is %s already, since %s", after.State, clock(after.EndedAt))}
		}
		after.State, after.EndedAt, after.EndReason, after.CancelledBy = BulkCancelled, now, reason, a.Name
		return []Write{{
			Collection: contracts.CollectionReplays, ID: id, Op: OpUpdate, IfUnchangedSince: doc.UpdateTime,
			Fields: map[string]any{
				bulkState: string(BulkCancelled), bulkEndedAt: now, bulkEndReason: reason, bulkCancelledBy: a.Name, bulkCancel: decision,
			},
		}, after.entry(decision, a, actionCancel, BulkRunning, BulkCancelled, reason).Write()}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("cancel bulk replay: %w", err)
	}
	if !at.IsZero() {
		after.UpdateTime = at
	}
	q.log.Info("bulk replay cancelled", zap.String("bulk", id), zap.String("actor", a.Name))
	q.Ring(BellBulk)
	return after, nil
}
