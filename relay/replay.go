package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/lanes"
)

// errStopping ends the replays that a stop finds queued.
var errStopping = errors.New("the relay is stopping")

// Codes of failures that a replay meets before any delivery.
const (
	codeRecordGone = "RecordGone" // its payload stood only in the outbox, and does not any more
	codeUnrouted   = "Unrouted"   // the catalog does not route the event to a missing target any more
)

// errElsewhere ends the replays of outboxes that another instance relays.
var errElsewhere = errors.New("another instance relays its outbox")

// Owned implements replayer.Lanes.
func (r *Relay) Owned() []string {
	var names []string
	for _, o := range r.shares.list() {
		if !slices.Contains(names, o.spec.Name) {
			names = append(names, o.spec.Name)
		}
	}
	return names
}

// Owns implements replayer.Lanes.
func (r *Relay) Owns(item *dlq.Item) bool {
	share, ok := r.shareOf(item)
	return ok && r.shares.of(share) != nil && r.owners.Owns(share.String())
}

// shareOf returns the share that brought an item's record.
func (r *Relay) shareOf(item *dlq.Item) (contracts.Share, bool) {
	spec := r.catalog.Outbox(item.Outbox)
	if spec == nil {
		return contracts.Share{}, false
	}
	share, _ := spec.ShareWith(item.Record[contracts.FieldShard])
	return share, true
}

// Pin implements replayer.Lanes.
func (r *Relay) Pin(item *dlq.Item) (release func(), ok bool) {
	share, ok := r.shareOf(item)
	if !ok {
		return nil, false
	}
	o := r.shares.of(share)
	if o == nil || !r.owners.Owns(share.String()) || !o.pins.pin() {
		return nil, false
	}
	return o.pins.release, true
}

// Replay implements replayer.Lanes. An item is in one replay at a time. When ctx
// ends, a replay that is queued is given up with an error; one in delivery
// comes to its end first.
func (r *Relay) Replay(ctx context.Context, item *dlq.Item) (dlq.Round, error) {
	if !r.replays.begin(item.ID) {
		return dlq.Round{}, fmt.Errorf("replay dead letter %s: a replay of it is under way", item.ID)
	}
	defer r.replays.end(item.ID)
	round, err := r.replay(ctx, item)
	if err != nil {
		err = fmt.Errorf("replay dead letter %s: %w", item.ID, err)
	}
	outcome := replayOutcome(round, err)
	if len(round.Blocked) == 0 && err == nil {
		r.replays.forget(item.ID)
	}
	r.metrics.replays.WithLabelValues(outcome).Inc()
	r.log.Debug("replay round is over", zap.String("deadLetter", item.ID), zap.String("traceId", item.TraceID), zap.String("outcome", outcome), zap.Error(err))
	return round, err
}

func (r *Relay) replay(ctx context.Context, item *dlq.Item) (dlq.Round, error) {
	if !r.Owns(item) {
		return dlq.Round{}, errElsewhere
	}
	p, failed, err := r.prepare(ctx, item)
	if err != nil || len(failed) > 0 {
		return dlq.Round{Failed: failed}, err
	}
	if len(p.targets) == 0 {
		return dlq.Round{}, nil // all have it
	}
	if r.closed(p.targets, p.rec) {
		return dlq.Round{Blocked: p.targets, Missing: p.missing}, nil
	}
	if err := r.skipDelivered(ctx, p); err != nil {
		return dlq.Round{}, err
	}
	if len(p.targets) == 0 {
		return dlq.Round{Failed: p.unrouted}, nil // all others have it
	}
	pool := r.pools[p.lane]
	p.trail = r.tracing.replay(p)
	if err := pool.Submit(&p.task); err != nil {
		return dlq.Round{}, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.giveUp(pool, ctx.Err())
	}
	p.trail.end(replayOutcome(p.result.round, p.result.err))
	return p.result.round, p.result.err
}

// closed reports whether none of targets can be tried now for a record: a round would
// only wait in the lane to find that out. Each of them hears that the record waits.
func (r *Relay) closed(targets []string, rec *contracts.Record) bool {
	refused := 0
	for _, t := range targets {
		if r.router.Refuses(t, rec) {
			refused++
		}
	}
	return refused == len(targets)
}

// skipDelivered takes the targets out of a round that have the record by what its
// document says, if that is still there: the dead letter may have been written late,
// by an owner that had lost its lease, while another one delivered the record.
func (r *Relay) skipDelivered(ctx context.Context, p *replay) error {
	if p.item.Consumer != "" { // which has it, and could not handle it
		return nil
	}
	doc, ok, err := r.store.Get(ctx, p.rec.Outbox, p.rec.ID)
	if err != nil || !ok {
		return err
	}
	now, _ := contracts.DecodeRecord(p.rec.Outbox, p.rec.ID, doc.fields())
	if now.IdempotencyKey != p.rec.IdempotencyKey {
		return nil // another record has taken its place
	}
	p.targets = slices.DeleteFunc(p.targets, now.HasTarget)
	p.missing = slices.Clone(p.targets)
	if o := r.shares.of(p.share); o != nil && now.Status == contracts.Dead {
		p.twin = o.elsewhere(doc)
	}
	return nil
}

// skipTwins is skipDelivered for what the record's twin reached, whose turn was before
// this one.
func (p *replay) skipTwins() {
	if p.twin == nil || p.twin.lane != p.lane {
		return
	}
	p.targets = slices.DeleteFunc(p.targets, p.twin.rec.HasTarget)
	p.missing = slices.DeleteFunc(p.missing, p.twin.rec.HasTarget)
	p.twin = nil
}

// prepare rebuilds the item's record and finds its missing targets. failed says
// why it cannot be delivered at all; where only some of its targets are not
// routed any more, the replay tells of them when its round is over.
func (r *Relay) prepare(ctx context.Context, item *dlq.Item) (p *replay, failed []contracts.AttemptError, err error) {
	attempt := attemptOf(item)
	fault := func(target, code, message string) []contracts.AttemptError {
		return []contracts.AttemptError{{At: r.now(), Attempt: attempt, Target: target, Code: code, Message: contracts.Clip(message)}}
	}
	_, id, _ := strings.Cut(item.RecordPath, "/")
	fields, ok := item.Whole()
	if !ok {
		doc, ok, err := r.store.Get(ctx, item.Outbox, id)
		switch {
		case err != nil:
			return nil, nil, err
		case !ok:
			return nil, fault("", codeRecordGone, "the dead letter lacks its payload, and its record is gone from "+item.Outbox), nil
		}
		fields = doc.fields()
	}
	rec, faults := contracts.DecodeRecord(item.Outbox, id, fields)
	checked := r.catalog.Check(rec, faults)
	if len(checked.Faults) > 0 {
		failed = faultErrors(checked.Faults, r.now())
		for i := range failed {
			failed[i].Attempt = attempt
		}
		return nil, failed, nil
	}
	share, _ := r.shareOf(item)
	p = &replay{item: item, rec: rec, share: share, data: checked.Data, lane: item.Lane, readAt: r.now(), done: make(chan struct{})}
	if !p.lane.Valid() {
		p.lane = checked.Lane
	}
	has := func(t string) bool { return item.Consumer == "" && rec.HasTarget(t) }
	for _, t := range checked.Route.Targets {
		if !has(t) && (len(item.PendingTargets) == 0 || slices.Contains(item.PendingTargets, t)) {
			p.targets = append(p.targets, t)
		}
	}
	for _, t := range item.PendingTargets {
		if !has(t) && !slices.Contains(checked.Route.Targets, t) {
			p.unrouted = append(p.unrouted, fault(t, codeUnrouted, "the catalog does not route "+item.EventType+" to "+t+" any more")...)
		}
	}
	if len(p.targets) == 0 && len(p.unrouted) > 0 {
		return nil, p.unrouted, nil
	}
	p.missing = slices.Clone(p.targets)
	p.task = lanes.Task{Aggregate: aggregateKey(rec.Outbox, rec.AggregateID), Version: rec.AggregateVersion, Tie: id, Needs: slices.Clone(p.targets), Work: p}
	return p, nil, nil
}

// attemptOf is the number of the attempt that a replay of the item makes: deliveries and
// replays are counted on, in its errors, the lag samples and the traces alike.
func attemptOf(item *dlq.Item) int { return item.Attempts + item.Replays + 1 }
