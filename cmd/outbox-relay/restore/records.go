package restore

import (
	"context"
	"fmt"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay"
)

// FieldRestored holds the ID of the audit entry by which a record was settled.
// No other record has it.
const FieldRestored = "restored"

const (
	// actionRestore is the audit's word for a commit of Run.
	actionRestore = "restore"
	// pageSize is how many documents are read at once.
	pageSize = 200
	// commitSize and commitBytes bound a commit: well under Firestore's 10 MiB
	// with the copies that dead letters keep.
	commitSize  = 50
	commitBytes = 2 << 20
	// trimAbove is the size of an envelope above which a dead letter goes without
	// its copy of the payload, as both would not fit into Firestore's 1 MiB.
	trimAbove = 400 << 10
)

// Waiting is a record that was waiting in the export.
type Waiting struct {
	Doc     relay.Doc
	Record  *contracts.Record
	Checked contracts.Checked
}

// waiting finds the records of an outbox that wait, of all its shards, and has
// them settled page by page. What is settled leaves the scan, so each page
// begins behind the last ID that was read.
func (r *Restore) waiting(ctx context.Context, o *contracts.Outbox, of *OutboxReport, settle func(context.Context, *contracts.Outbox, []Waiting) (int, error)) error {
	for _, from := range []struct {
		scan  relay.ScanKind
		count *int
	}{{relay.ScanUnordered, &of.Pending}, {relay.ScanRetrying, &of.Retrying}, {relay.ScanHeld, &of.Held}} {
		scan := relay.Scan{Outbox: o.Name, Kind: from.scan, Limit: pageSize}
		for {
			page, err := r.Records.Page(ctx, scan)
			if err != nil {
				return err
			}
			var found []Waiting
			for _, d := range page {
				if w, ok := r.judge(o, d, of); ok {
					found = append(found, w)
				}
			}
			*from.count += len(found)
			settled, err := settle(ctx, o, found)
			of.Settled += settled
			if err != nil {
				return err
			}
			if len(page) < pageSize {
				break
			}
			scan.AfterID = page[len(page)-1].ID
		}
	}
	return nil
}

// judge tells whether a document is a sound record of the export.
func (r *Restore) judge(o *contracts.Outbox, d relay.Doc, of *OutboxReport) (Waiting, bool) {
	if d.Canary() {
		return Waiting{}, false
	}
	rec, faults := contracts.DecodeRecord(o.Name, d.ID, d.Fields())
	w := Waiting{Doc: d, Record: rec, Checked: r.Catalog.Check(rec, faults)}
	switch {
	case len(w.Checked.Faults) > 0 || rec.CreatedAt.IsZero():
		of.Faulty++
	case !rec.CreatedAt.Before(r.Before):
		of.Newer++
	default:
		return w, true
	}
	return Waiting{}, false
}

// settle writes what becomes of records, some to a commit, each commit with its
// audit entry. It returns how many were settled.
func (r *Restore) settle(ctx context.Context, o *contracts.Outbox, found []Waiting) (settled int, err error) {
	for len(found) > 0 {
		n, size := 0, 0
		for n < len(found) && n < commitSize && (n == 0 || size+len(found[n].Checked.Data) <= commitBytes) {
			size += len(found[n].Checked.Data)
			n++
		}
		done, err := r.commit(ctx, o, found[:n])
		settled += done
		if done > 0 {
			r.Progress(o.Name, done)
		}
		if err != nil {
			return settled, err
		}
		found = found[n:]
	}
	return settled, nil
}

// commit settles records.
func (r *Restore) commit(ctx context.Context, o *contracts.Outbox, found []Waiting) (settled int, err error) {
	return settleAll(found, func(found []Waiting) error {
		_, err := r.Letters.Commit(ctx, r.writes(o, found, r.NewID()))
		return err
	}, func(w Waiting, refusal error) (int, error) { return r.recognise(ctx, o, w, refusal) })
}

// recognise reads a record whose settlement was refused: it may be that the
// answer of an earlier commit of this run was lost.
func (r *Restore) recognise(ctx context.Context, o *contracts.Outbox, w Waiting, refusal error) (settled int, err error) {
	d, exists, err := r.Records.Get(ctx, o.Name, w.Doc.ID)
	switch {
	case err != nil:
		return 0, err
	case !exists:
		if o.OnDelivered == contracts.DeleteDelivered && r.As == AsDelivered {
			return 1, nil
		}
		return 0, nil
	case d.Fields()[FieldRestored] != nil:
		return 1, nil
	case !d.UpdateTime.Equal(w.Doc.UpdateTime):
		return 0, nil // somebody else's
	case r.As == AsReview:
		return r.rejoin(ctx, w, refusal)
	}
	return 0, fmt.Errorf("settle record %s: %w", w.Record.Path(), refusal)
}

// writes renders the settlement of records, with its audit entry.
func (r *Restore) writes(o *contracts.Outbox, found []Waiting, id string) []dlq.Write {
	now := r.Now().UTC().Truncate(time.Microsecond)
	to := contracts.Delivered
	if r.As == AsReview {
		to = contracts.Dead
	}
	entry := &dlq.Entry{
		ID: id, Actor: r.By, Action: actionRestore, Subject: dlq.SubjectOutbox, On: o.Name, To: string(to),
		Reason: r.reason(counted(len(found))), Outbox: o.Name,
	}
	if len(found) == 1 {
		rec := found[0].Record
		entry.From, entry.EventID, entry.EventType, entry.TraceID, entry.AggregateID = string(rec.Status), rec.EventID, rec.EventType, rec.TraceID, rec.AggregateID
	}
	writes := []dlq.Write{entry.Write()}
	for _, w := range found {
		if r.As == AsReview {
			writes = append(writes, r.burial(w, id, now)...)
			continue
		}
		writes = append(writes, delivered(o, w, id, now))
	}
	return writes
}

// reason is what the audit says: what it is about, and why somebody did it.
func (r *Restore) reason(what string) string {
	return fmt.Sprintf("%s of an export, appended before %s: %s", what, r.Before.UTC().Format(time.RFC3339), r.Reason)
}

func counted(records int) string {
	if records == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", records)
}

// delivered is the write by which a record counts as delivered. When that was
// nobody knows, so it has no deliveredAt.
func delivered(o *contracts.Outbox, w Waiting, id string, now time.Time) dlq.Write {
	out := dlq.Write{Collection: o.Name, ID: w.Doc.ID, Op: dlq.OpDelete, IfUnchangedSince: w.Doc.UpdateTime}
	if o.OnDelivered == contracts.DeleteDelivered {
		return out
	}
	out.Op = dlq.OpUpdate
	out.Fields = map[string]any{
		contracts.FieldStatus: string(contracts.Delivered), contracts.FieldExpireAt: now.Add(o.Retention),
		contracts.FieldNextAttemptAt: nil, FieldRestored: id,
	}
	return out
}
