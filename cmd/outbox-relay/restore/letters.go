package restore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// burial makes a record a dead letter that waits for a person. One that its
// event's tier would replay by itself becomes REVIEW_REQUIRED.
func (r *Restore) burial(w Waiting, id string, now time.Time) []dlq.Write {
	rec, tier := w.Record, w.Checked.Tier
	original := tier
	if tier == contracts.SafeAuto {
		tier = contracts.ReviewRequired
	}
	item := dlq.Item{
		ID: dlq.ID(rec.IdempotencyKey), Tier: tier, OriginalTier: original, State: tier.FirstState(), Reason: contracts.Restored,
		Outbox: rec.Outbox, RecordPath: rec.Path(), Record: w.Doc.Raw(),
		EventID: rec.EventID, EventType: rec.EventType, TraceID: rec.TraceID, IdempotencyKey: rec.IdempotencyKey,
		AggregateID: rec.AggregateID, AggregateVersion: rec.AggregateVersion, Lane: w.Checked.Lane,
		Errors: r.errors(rec, now), Attempts: rec.Attempts, DeadAt: now,
		Decisions: []dlq.Decision{{ID: id, Action: dlq.Note, By: r.By, At: now, Reason: r.reason("a record")}},
	}
	for _, t := range w.Checked.Route.Targets {
		if !rec.HasTarget(t) {
			item.PendingTargets = append(item.PendingTargets, t)
		}
	}
	if len(w.Checked.Data) > trimAbove {
		item.Record, item.RecordTrimmed = maps.Clone(item.Record), true
		delete(item.Record, contracts.FieldPayload)
	}
	group := dlq.GroupOf(&item).ID
	writes := item.Burial(r.groups[group])
	r.groups[group] = true
	return append(writes, toDead(w, id))
}

// errors are those of the record's attempts, and at their end why it is a dead
// letter: by that it is grouped, apart from the same event's failures.
func (r *Restore) errors(rec *contracts.Record, now time.Time) []contracts.AttemptError {
	return dlq.BoundErrors(append(slices.Clone(rec.AttemptErrors), contracts.AttemptError{
		At: now, Attempt: rec.Attempts, Code: string(contracts.Restored), Message: "it was waiting in an export of Firestore",
	}))
}

// rejoin puts a record back to the dead letter that it has already: it died
// after the export, and only its document was brought back.
func (r *Restore) rejoin(ctx context.Context, w Waiting, refusal error) (settled int, err error) {
	letters, err := r.Letters.Get(ctx, contracts.CollectionDeadLetters, dlq.ID(w.Record.IdempotencyKey))
	if err != nil {
		return 0, err
	}
	if !letters[0].Exists() || dlq.DecodeItem(letters[0]).RecordPath != w.Record.Path() {
		return 0, fmt.Errorf("settle record %s: %w", w.Record.Path(), refusal)
	}
	id := r.NewID()
	entry := &dlq.Entry{
		ID: id, Actor: r.By, Action: actionRestore, Subject: dlq.SubjectOutbox, On: w.Record.Outbox, From: string(w.Record.Status), To: string(contracts.Dead),
		Reason: r.reason("a record that has its dead letter"), Outbox: w.Record.Outbox, EventID: w.Record.EventID, EventType: w.Record.EventType,
		TraceID: w.Record.TraceID, AggregateID: w.Record.AggregateID,
	}
	if _, err := r.Letters.Commit(ctx, []dlq.Write{entry.Write(), toDead(w, id)}); err != nil {
		return 0, fmt.Errorf("settle record %s: %w", w.Record.Path(), err)
	}
	return 1, nil
}

// toDead is the write of a record whose dead letter stands, or is written with it.
func toDead(w Waiting, id string) dlq.Write {
	return dlq.Write{
		Collection: w.Record.Outbox, ID: w.Record.ID, Op: dlq.OpUpdate, IfUnchangedSince: w.Doc.UpdateTime, Fields: map[string]any{
			contracts.FieldStatus: string(contracts.Dead), contracts.FieldNextAttemptAt: nil, FieldRestored: id,
		},
	}
}

// timedPage is how many dead letters are shelved before the rest is read.
const timedPage = 200

// findTimed counts the dead letters and bulk replays that would go on by
// themselves.
func (r *Restore) findTimed(ctx context.Context, report *Report) error {
	timed, err := r.Queue.Timed(ctx, r.Outboxes, maxTimed)
	if err != nil {
		return err
	}
	report.Replays = len(timed)
	running, err := r.running(ctx)
	report.Bulks = len(running)
	return err
}

// maxTimed bounds what Look counts of each tier.
const maxTimed = 10_000

// shelve ends the bulk replays that run, and takes the dead letters off their
// schedule: what was asked for before the export may have been done after it.
func (r *Restore) shelve(ctx context.Context, report *Report) error {
	by := dlq.Actor{Name: r.By, Role: dlq.Operator} // whoever may write the database may do this
	running, err := r.running(ctx)
	if err != nil {
		return err
	}
	for _, b := range running {
		if _, err := r.Queue.CancelBulk(ctx, b.ID, by, r.reason("a bulk replay")); err != nil {
			return err
		}
		report.Bulks++
	}
	for {
		timed, err := r.Queue.Timed(ctx, r.Outboxes, timedPage)
		if err != nil {
			return err
		}
		for _, i := range timed {
			if err := r.Queue.Shelve(ctx, i.ID, dlq.Actor{Name: r.By}, r.reason("a dead letter")); err != nil {
				return err
			}
			report.Replays++
		}
		if len(timed) == 0 {
			return nil
		}
	}
}

// running lists the bulk replays that would go on.
func (r *Restore) running(ctx context.Context) ([]*dlq.Bulk, error) {
	var out []*dlq.Bulk
	for page := (dlq.Page{Limit: 100}); ; {
		bulks, err := r.Queue.Bulks(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("look for bulk replays: %w", err)
		}
		for _, b := range bulks.Items {
			if !b.State.Ended() {
				out = append(out, b)
			}
		}
		if page.Token = bulks.Next; page.Token == "" {
			return out, nil
		}
	}
}
