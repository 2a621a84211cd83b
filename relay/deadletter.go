package relay

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// deadLetter is the dead letter of a settlement.
type deadLetter struct {
	item   dlq.Item
	size   int       // of the record in bytes, roughly
	before *dlq.Item // an earlier death of the same record, in whose place it is written; nil: there is none
	orphan bool      // the record's document is gone: the dead letter is all that is left

	relisted []string // what its freeze is to list, see dlq.Item.Relist
}

// bury settles e as dead: its dead letter and its status in one atomic commit.
func (o *outbox) bury(e *entry, reason contracts.Reason, tier contracts.Tier) {
	r := e.rec
	now := o.now()
	key := r.IdempotencyKey
	if key == "" { // a record too broken to have one
		key = r.Outbox + ":" + r.ID
	}
	item := dlq.Item{
		ID: dlq.ID(key), Tier: tier, OriginalTier: tier, State: tier.FirstState(), Reason: reason,
		Outbox: r.Outbox, RecordPath: r.Path(),
		EventID: r.EventID, EventType: r.EventType, TraceID: r.TraceID, IdempotencyKey: r.IdempotencyKey,
		AggregateID: r.AggregateID, AggregateVersion: r.AggregateVersion, Lane: e.lane,
		Versionless: slices.ContainsFunc(e.faults, func(f contracts.Fault) bool { return f.Field == contracts.FieldAggregateVersion }),
		Errors:      keptErrors(r.AttemptErrors), Attempts: r.Attempts, DeadAt: now,
	}
	if e.route != nil {
		item.PendingTargets = e.missing()
	}
	if tier == contracts.SafeAuto && len(o.catalog.Replay.Delays) > 0 {
		item.NextReplayAt = now.Add(o.catalog.Replay.Delay(0, o.random()))
	}
	e.trail.die(&item)
	o.log.Debug("record failed for good, writing its dead letter", zap.String("record", r.ID), zap.String("deadLetter", item.ID),
		zap.String("traceId", r.TraceID), zap.String("tier", string(tier)), zap.String("reason", string(reason)), e.trail.field())
	d := &deadLetter{item: item}
	if o.freezing(&item) {
		o.freezes.dying(item.AggregateID)
	}
	if e.doc != nil {
		d.copyDoc(*e.doc)
	}
	o.settle(e, &settlement{entry: e, kind: settleDead, dead: d, at: now, size: len(e.data) + d.size + 4096})
}

// copyDoc takes in the document as far as it can be decoded. What is missing is
// read again for a replay: somebody may mend it.
func (d *deadLetter) copyDoc(doc Doc) {
	raw, whole := doc.raw()
	d.copy(raw)
	d.item.RecordTrimmed = !whole
}

// copy takes in the record as it stood.
func (d *deadLetter) copy(record map[string]any) {
	d.item.Record, d.size = record, dlq.SizeOf(record)
}

// How far a dead letter's writes are cut down, see settlement.slim.
const (
	slimTrimmed  = 1 // without the record's payload
	slimBare     = 2 // of the record, only what every record has
	slimUnlisted = 3 // the freeze does not list what froze it
	slimUnfrozen = 4 // without the freeze
)

// writes renders the dead letter and all that belongs to it, with the record's
// own write.
func (d *deadLetter) writes(record Write, st *settlement) []Write {
	r := st.entry.rec
	item := d.item
	if st.slim >= slimTrimmed || d.size > dlq.CutAbove {
		item.Record, item.RecordTrimmed = dlq.WithoutPayload(item.Record), true
	}
	if st.slim >= slimBare {
		item = item.Bare()
	}
	known := st.entry.outbox.burials.groups.known(dlq.GroupOf(&item).ID)
	var writes []Write
	if d.before != nil {
		writes = item.BurialOver(d.before, known)
	} else {
		writes = item.Burial(known)
	}
	writes = slices.DeleteFunc(writes, func(w Write) bool {
		return st.slim >= slimUnfrozen && (w.Collection == contracts.CollectionFrozen || w.Collection == contracts.CollectionAudit)
	})
	d.relisted = nil
	for i := range writes {
		switch {
		case writes[i].Collection != contracts.CollectionFrozen:
		case st.slim >= slimUnlisted:
			writes[i].Union = nil
		default:
			d.relisted = item.Relist(&writes[i], st.entry.outbox.freezes.listed(item.AggregateID))
		}
	}
	if d.orphan {
		return writes
	}
	record.Fields = map[string]any{contracts.FieldStatus: string(contracts.Dead)}
	if st.slim == 0 {
		record.Fields[contracts.FieldAttempts] = r.Attempts
		record.Fields[contracts.FieldLastError] = r.LastError
		record.Fields[contracts.FieldNextAttemptAt] = nil
		if targets := reached(r.DeliveredTargets, st.entry.before); len(targets) > 0 {
			record.Fields[contracts.FieldDeliveredTargets] = targets
		}
	}
	return append(writes, record)
}

// exhume completes the dead letters of a batch by the documents of their
// records, which memory does not keep. One whose document is gone is left with
// what memory has.
func (s *settler) exhume(ctx context.Context, batch []*settlement) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(exhumations)
	for _, st := range batch {
		if st.kind != settleDead || st.dead.item.Record != nil {
			continue
		}
		g.Go(func() error {
			return s.guard.do(partSettler, func() error { return s.exhumeOne(ctx, st) })
		})
	}
	return g.Wait()
}

func (s *settler) exhumeOne(ctx context.Context, st *settlement) error {
	doc, exists, err := s.reread(ctx, st.entry)
	switch {
	case err != nil:
		return err
	case exists:
		st.dead.copyDoc(doc)
	default:
		st.dead.orphan = true
		st.dead.copy(remains(st.entry))
	}
	return nil
}

// exhumations is how many documents are read at once for a batch.
const exhumations = 16

// remains is the record as memory has it: what its producer wrote.
func remains(e *entry) map[string]any {
	fields := e.rec.ProducerFields()
	var envelope struct {
		Payload map[string]any `json:"payload"`
	}
	if err := json.Unmarshal(e.data, &envelope); err == nil {
		fields[contracts.FieldPayload] = envelope.Payload
	}
	return fields
}

// keptErrors bounds what a dead letter keeps of its record's errors, in number
// and in size: a record may hold anything where they belong.
func keptErrors(errs []contracts.AttemptError) []contracts.AttemptError {
	kept := dlq.BoundErrors(errs)
	for i := range kept {
		e := &kept[i]
		e.Target, e.Code, e.Message = contracts.Clip(e.Target), contracts.Clip(e.Code), contracts.Clip(e.Message)
	}
	return kept
}

// inTheWay reports whether a commit may have been refused for what stands in the dead
// letter's place: for one that is there, or for one to be replaced that changed or is gone.
func (d *deadLetter) inTheWay(cause error) bool {
	switch contracts.CodeOf(cause) {
	case "AlreadyExists":
		return true
	case "FailedPrecondition", "NotFound":
		return d.before != nil
	}
	return false
}

// collided resolves a dead letter whose ID is taken: by an earlier death of
// the same record, which is replaced, or by a record with the same key in
// another place, beside which it gets an ID of its own. What was there and is gone
// is no longer in its way.
func (s *settler) collided(ctx context.Context, d *deadLetter) error {
	ctx, cancel := context.WithTimeout(ctx, s.tuning.CommitTimeout)
	defer cancel()
	doc, exists, err := s.store.Get(ctx, contracts.CollectionDeadLetters, d.item.ID)
	if err != nil {
		return err
	}
	d.before = nil
	if !exists {
		return nil
	}
	if before := doc.deadLetter(); before.RecordPath == d.item.RecordPath {
		d.before = before
	} else {
		d.item.ID = dlq.ID(d.item.ID + "~" + d.item.RecordPath)
	}
	return nil
}

// lastError is the text that lastError holds for a failure.
func lastError(target, code, message string) string {
	return contracts.Clip(target + ": " + code + ": " + message)
}

// backoff is the wait before the next attempt after `attempts` failures:
// exponential, with full jitter, so that records that failed together do not
// come back together. share is uniform in [0,1).
func backoff(p contracts.RetryPolicy, attempts int, share float64) time.Duration {
	d := float64(p.Initial)
	for range attempts - 1 {
		d *= p.Multiplier
	}
	return time.Duration(min(d, float64(p.Max)) * share)
}
