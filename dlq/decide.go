package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Decide is the decision of a person about a dead letter.
type Decide struct {
	Action Action // Replay, Discard, Authorize, Withdraw or Note
	Actor  Actor
	Reason string    // required
	Seen   time.Time // the update time of what the actor saw; zero: whatever stands there
	Bulk   string    // the bulk replay that asks; "" for a person
}

// Decided is what a decision came to.
type Decided struct {
	Item  *Item
	Entry *Entry
	// Order says what a replay does to the order of its aggregate. Replay by a
	// person only.
	Order *OrderNote
}

// Decide carries out a decision, with its audit entry, in one commit that
// holds only for the dead letter as it was judged. So of several who decide at
// the same time each is judged by what the one before left. A Replay is asked
// for here and delivered by its tier's goroutine; see End.
func (q *Queue) Decide(ctx context.Context, id string, d Decide) (*Decided, error) {
	reason, err := d.check()
	if err != nil {
		return nil, err
	}
	j := &judgement{queue: q, id: id, decide: d, decision: Decision{ID: q.newID(), Action: d.Action, By: d.Actor.Name, At: q.moment(), Reason: reason}}
	at, err := q.commit(ctx, j.writes)
	if err != nil {
		return nil, fmt.Errorf("%s dead letter: %w", d.Action, err)
	}
	if !at.IsZero() {
		j.after.UpdateTime = at
	}
	q.log.Info("decision about a dead letter", zap.String("action", string(d.Action)), zap.String("actor", d.Actor.Name), zap.String("deadLetter", id),
		zap.String("traceId", j.after.TraceID), zap.String("state", string(j.after.State)), zap.String("bulk", d.Bulk))
	if d.Action == Discard {
		q.callYounger(ctx, j.after)
	}
	if d.Action == Replay || d.Action == Discard || d.Action == Withdraw {
		q.Ring(BellReplays)
	}
	return &Decided{Item: j.after, Entry: j.entry, Order: j.order}, nil
}

// check returns the reason, trimmed.
func (d *Decide) check() (reason string, err error) {
	if !slices.Contains([]Action{Replay, Discard, Authorize, Withdraw, Note}, d.Action) {
		return "", &Refusal{Kind: Invalid, Detail: fmt.Sprintf("%q is not something that people decide", d.Action), Hint: "replay, discard, authorize, withdraw or note"}
	}
	if d.Actor.Name == "" {
		return "", &Refusal{Kind: Forbidden, Detail: "nobody decides nothing: the actor has no name"}
	}
	return ReasonOf(d.Reason)
}

// judgement is one decision on its way.
type judgement struct {
	queue    *Queue
	id       string
	decide   Decide
	decision Decision

	// What the last call of writes came to.
	read  time.Time // when it read the dead letter, by the server's clock
	after *Item
	entry *Entry
	order *OrderNote
}

// writes is the decision's change.
func (j *judgement) writes(ctx context.Context) ([]Write, error) {
	doc, err := j.queue.deadLetter(ctx, j.id)
	if err != nil {
		return nil, err
	}
	item := DecodeItem(doc)
	j.read = doc.ReadTime.UTC().Truncate(time.Microsecond)
	if item.decided(j.decision.ID) { // the answer of its commit was lost
		j.after = item
		return nil, nil
	}
	if seen := j.decide.Seen; !seen.IsZero() && !seen.Equal(item.UpdateTime) {
		return nil, changedSince(item.UpdateTime)
	}
	row, err := j.judge(ctx, item)
	if err != nil {
		return nil, err
	}
	change := j.apply(item, row)
	return []Write{change, j.entry.Write()}, nil
}

// changedSince refuses a decision about what is not what the actor saw any more.
func changedSince(at time.Time) *Refusal {
	return &Refusal{
		Kind: Changed, Detail: "it was changed since you looked at it, at " + clock(at),
		Hint: "look at it again, then decide",
	}
}

// decided reports whether the decision of that ID is part of the item's history.
func (i *Item) decided(id string) bool {
	return slices.ContainsFunc(i.Decisions, func(d Decision) bool { return d.ID == id }) ||
		i.Replaying != nil && i.Replaying.ID == id ||
		i.LastReplay != nil && i.LastReplay.Request == id
}

// judge finds the row of the table that the decision takes, or why there is none.
func (j *judgement) judge(ctx context.Context, item *Item) (Transition, error) {
	d := j.decide
	relayed, err := j.queue.Relayed(ctx, item.Outbox)
	if err != nil {
		return Transition{}, err
	}
	row, refused := Judge(j.queue.catalog, item, relayed, d.Action, d.Actor)
	switch {
	case refused != nil:
		return Transition{}, refused
	case d.Action != Replay:
		return row, nil
	case d.Bulk != "" && item.Tier == contracts.SecurityBlock:
		return Transition{}, &Refusal{Kind: Forbidden, Detail: fmt.Sprintf("%s is never replayed in bulk", contracts.SecurityBlock), Hint: "replay it by itself"}
	}
	if err := j.queue.inTurn(ctx, item); err != nil {
		return Transition{}, err
	}
	if d.Bulk != "" { // nobody reads it, and it costs reads
		return row, nil
	}
	order, err := j.queue.orderNote(ctx, item, maxDeliveredSince)
	j.order = order
	return row, err
}

// apply moves the item along row and returns the write of what changes.
func (j *judgement) apply(item *Item, row Transition) Write {
	after := *item
	d := j.decision
	after.Tier, after.State = row.To.Tier, row.To.State
	after.Decisions = bounded(item.Decisions, d)
	changed := []string{contracts.DeadFieldDecisions}
	switch d.Action {
	case Replay:
		after.Replaying = &Request{ID: d.ID, By: d.By, At: j.read, Reason: d.Reason, Bulk: j.decide.Bulk}
		after.NextReplayAt = earlier(j.read, d.At) // due at once also where this clock is wrong, be it whose replays it or not
		changed = append(changed, contracts.DeadFieldReplaying, contracts.DeadFieldNextReplayAt)
	case Withdraw:
		after.NextReplayAt, after.Replaying, after.AuthorizedBy = time.Time{}, nil, ""
		changed = append(changed, contracts.DeadFieldState, contracts.DeadFieldNextReplayAt, contracts.DeadFieldReplaying, contracts.DeadFieldAuthorizedBy)
	case Discard:
		after.NextReplayAt, after.Replaying = time.Time{}, nil
		changed = append(changed, contracts.DeadFieldState, contracts.DeadFieldOpen, contracts.DeadFieldNextReplayAt, contracts.DeadFieldReplaying)
	case Authorize:
		after.AuthorizedBy = d.By
		changed = append(changed, contracts.DeadFieldState, contracts.DeadFieldAuthorizedBy)
	}
	j.after = &after
	j.entry = after.entry(d.ID, j.decide.Actor, d.Action, item.State, d.Reason)
	j.entry.At = d.At
	return after.update(changed...)
}

// entry is the audit entry of something that happened to the item, which it
// already shows.
func (i *Item) entry(id string, by Actor, a Action, from contracts.DeadState, reason string) *Entry {
	return &Entry{
		ID: id, Actor: by.Name, Role: by.Role, Action: string(a), Subject: SubjectDeadLetter, On: i.ID, From: string(from), To: string(i.State),
		Reason: reason, Outbox: i.Outbox, EventID: i.EventID, EventType: i.EventType, TraceID: i.TraceID, AggregateID: i.AggregateID,
	}
}

// update writes these of the item's fields, on condition that its document is as
// it was read. What the item does not have is nil, which deletes it.
func (i *Item) update(names ...string) Write {
	all := i.Fields()
	fields := make(map[string]any, len(names))
	for _, name := range names {
		fields[name] = all[name]
	}
	return Write{Collection: contracts.CollectionDeadLetters, ID: i.ID, Op: OpUpdate, Fields: fields, IfUnchangedSince: i.UpdateTime}
}

// What a dead letter keeps of a list that grows: how it began, and the latest.
// All decisions are in the audit.
const (
	keepFirst = 10
	keepLast  = 40
)

// bounded appends to a list of the item's and cuts out of its middle what is
// too much. The list itself stays as it is.
func bounded[T any](list []T, more ...T) []T {
	all := slices.Concat(list, more)
	if len(all) <= keepFirst+keepLast {
		return all
	}
	return slices.Delete(all, keepFirst, len(all)-keepLast)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// clock is how a refusal or a summary tells a time.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
