package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Result is how a replay ended. An outage ends none.
type Result struct {
	Acked  []string                 // targets that acknowledged
	Errors []contracts.AttemptError // of the others; empty: delivered
	// Missing is all that the replay set out for. It counts for an item without
	// pending targets, which may lack any of its route.
	Missing []string
	At      time.Time // zero: now
}

// End notes how a replay of the item, as it was read before the replay, ended.
// In one commit it moves the item on, marks its record delivered when all
// targets have it, and writes the audit entry. A request that came while the
// replay ran is answered by it. One that was withdrawn while it ran, or whose
// item was discarded, is told of all the same; see LateTransitions. An item that
// another replay or a death moved meanwhile is refused.
func (q *Queue) End(ctx context.Context, item *Item, r Result) (*Item, error) {
	if r.At.IsZero() {
		r.At = q.now()
	}
	r.At = r.At.UTC().Truncate(time.Microsecond)
	e := &ending{queue: q, item: item, result: r, id: q.newID()}
	at, err := q.commit(ctx, e.writes)
	if failed, ok := errors.AsType[CommitError](err); ok && failed.Code() == codeInvalidArgument {
		// So close to Firestore's 1 MiB that it refuses more.
		e.slim = true
		at, err = q.commit(ctx, e.writes)
	}
	if err != nil {
		return nil, fmt.Errorf("end replay of dead letter %s: %w", item.ID, err)
	}
	if !at.IsZero() {
		e.after.UpdateTime = at
	}
	q.log.Info("replay ended", zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID), zap.Bool("delivered", e.after.LastReplay.Delivered),
		zap.Int("replays", e.after.Replays), zap.String("tier", string(e.after.Tier)), zap.String("state", string(e.after.State)))
	if e.after.LastReplay.Delivered {
		q.callYounger(ctx, e.after)
		q.Ring(BellReplays)
	}
	if e.after.LastReplay.Bulk != "" {
		q.Ring(BellBulk)
	}
	return e.after, nil
}

// ending is the end of one replay on its way.
type ending struct {
	queue  *Queue
	item   *Item // as it was replayed
	result Result
	id     string // of its audit entry
	slim   bool   // nothing is added that can be left out

	after *Item  // what the last call of writes came to
	group *Group // that of its last error, where it stood in another; nil: it stays
}

// writes is the ending's change.
func (e *ending) writes(ctx context.Context) ([]Write, error) {
	item, err := e.queue.Item(ctx, e.item.ID)
	if err != nil {
		return nil, err
	}
	if item.LastReplay != nil && item.LastReplay.ID == e.id { // the answer of its commit was lost
		e.after = item
		return nil, nil
	}
	if !item.DeadAt.Equal(e.item.DeadAt) || item.Replays != e.item.Replays {
		return nil, &Refusal{Kind: Changed, Detail: "another replay of it ended meanwhile, or it died again"}
	}
	action := e.action(item)
	row, ok := NextLate(e.item.Place(), item.Place(), action)
	if !ok {
		return nil, unfit(item, action)
	}
	change := e.apply(item, row)
	entry := e.after.entry(e.id, Service(), action, item.State, e.told(item))
	writes := []Write{change, entry.Write()}
	if e.group != nil {
		writes = append(writes, e.group.Write())
	}
	record, ok, err := e.record(ctx, item)
	if ok {
		writes = append(writes, record)
	}
	return writes, err
}

// action tells which end it is.
func (e *ending) action(item *Item) Action {
	switch {
	case len(e.result.Errors) == 0:
		return Delivered
	case item.Tier == contracts.SafeAuto && Open(item.State) && item.Replays+1 >= len(e.queue.catalog.Replay.Delays):
		return Exhausted
	}
	return Failed
}

// apply moves the item along row and returns the write of what changes.
func (e *ending) apply(item *Item, row Transition) Write {
	after, r := *item, e.result
	after.Tier, after.State = row.To.Tier, row.To.State
	after.Replays++
	after.NextReplayAt = time.Time{}
	after.Replaying = nil
	after.LastReplay = &Ended{ID: e.id, At: r.At, Delivered: row.Action == Delivered, By: Service().Name}
	if asked := cmp.Or(item.Replaying, e.item.Replaying); asked != nil {
		after.LastReplay.Request, after.LastReplay.Bulk, after.LastReplay.By = asked.ID, asked.Bulk, asked.By
	}
	after.PendingTargets = stillPending(item, r.Missing, r.Acked)
	if e.group = nil; !e.slim {
		after.Errors = bounded(item.Errors, r.Errors...)
		if g := GroupOf(&after); g.ID != item.Group && len(r.Errors) > 0 {
			after.Group, e.group = g.ID, &g
		}
	}
	switch row.Action {
	case Delivered:
		after.PendingTargets = nil
	case Failed:
		if after.Tier == contracts.SafeAuto && Open(after.State) {
			after.NextReplayAt = r.At.Add(e.queue.catalog.Replay.Delay(after.Replays, e.queue.random()))
		}
	case Exhausted:
		after.Decisions = bounded(item.Decisions, Decision{ID: e.id, Action: Exhausted, By: Service().Name, At: r.At, Reason: e.reason()})
	}
	e.after = &after
	return after.update(
		contracts.DeadFieldTier, contracts.DeadFieldState, contracts.DeadFieldOpen, contracts.DeadFieldReplays, contracts.DeadFieldNextReplayAt,
		contracts.DeadFieldReplaying, contracts.DeadFieldLastReplay, contracts.DeadFieldPendingTargets, contracts.DeadFieldErrors, contracts.DeadFieldDecisions,
		contracts.DeadFieldGroup,
	)
}

// record is the write of the item's record; ok is false when there is nothing
// to write: it is gone, or another record has taken its place.
func (e *ending) record(ctx context.Context, item *Item) (w Write, ok bool, err error) {
	delivered := e.after.LastReplay.Delivered
	if item.Consumer != "" || !delivered && (len(e.result.Acked) == 0 || e.slim) { // a consumer's was delivered before
		return Write{}, false, nil
	}
	outbox, id, _ := strings.Cut(item.RecordPath, "/")
	doc, err := e.queue.get(ctx, outbox, id)
	if err != nil {
		return Write{}, false, fmt.Errorf("read its record: %w", err)
	}
	if !doc.Exists() || reading(doc.Fields).text(contracts.FieldIdempotencyKey) != item.IdempotencyKey {
		return Write{}, false, nil
	}
	w = Write{Collection: outbox, ID: id, Op: OpUpdate, IfUnchangedSince: doc.UpdateTime, Fields: map[string]any{}}
	if len(e.result.Acked) > 0 && !e.slim {
		w.Union = map[string][]string{contracts.FieldDeliveredTargets: e.result.Acked}
	}
	if !delivered {
		return w, true, nil
	}
	spec := e.queue.catalog.Outbox(outbox)
	if spec != nil && spec.OnDelivered == contracts.DeleteDelivered {
		return Write{Collection: outbox, ID: id, Op: OpDelete, IfUnchangedSince: doc.UpdateTime}, true, nil
	}
	w.Fields[contracts.FieldStatus] = string(contracts.Delivered)
	if e.slim {
		return w, true, nil
	}
	w.Fields[contracts.FieldDeliveredAt] = e.result.At
	if spec != nil {
		w.Fields[contracts.FieldExpireAt] = e.result.At.Add(spec.Retention)
	}
	return w, true, nil
}

// told tells the end in words, and what was decided of item while it came.
func (e *ending) told(item *Item) string {
	switch {
	case item.State == contracts.DeadDiscarded:
		return clip("it was under way when the dead letter was discarded: " + e.reason())
	case e.item.Replaying != nil && item.Replaying == nil:
		return clip("it was under way when it was withdrawn: " + e.reason())
	}
	return e.reason()
}

// reason tells the end in words.
func (e *ending) reason() string {
	r := e.result
	if len(r.Errors) == 0 {
		return clip("delivered to " + InWords(r.Acked))
	}
	failures := make([]string, len(r.Errors))
	for n, f := range r.Errors {
		known := slices.DeleteFunc([]string{f.Target, f.Code, f.Message}, func(s string) bool { return s == "" }) // a broken record has no target
		failures[n] = strings.Join(known, ": ")
	}
	return clip(strings.Join(failures, "; "))
}

// InWords lists targets in words; also where there are none.
func InWords(targets []string) string {
	if len(targets) == 0 {
		return "no target: none was missing"
	}
	return strings.Join(targets, ", ")
}

// clip bounds a text that the service writes as a reason.
func clip(s string) string { return contracts.ClipTo(s, maxReasonBytes) }

// without returns the targets that are not among the gone ones.
func without(targets, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(targets), func(t string) bool { return slices.Contains(gone, t) })
}
