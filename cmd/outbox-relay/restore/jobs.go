package restore

import (
	"context"
	"fmt"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/jobs"
)

// jobs finds the jobs that were open in the export and that a queue would send a second
// time, and makes them failed: a person decides. Those of a channel that tells what it has
// sent stay, as do events of notifications, which complete what was begun and add nothing.
func (r *Restore) jobs(ctx context.Context, settle bool) (Leftovers, error) {
	if r.Catalog.Outbox(outbox.Jobs) != nil {
		return Leftovers{}, nil // these are records: no instance runs the queue on them
	}
	v := jobs.Vocabulary()
	of, err := r.leftovers(ctx, dlq.Query{
		Collection: v.Collection, Where: []dlq.Where{{Field: v.Fields.Status, Op: "in", Value: []string{v.Pending, v.Processing}}},
		Select: []string{v.Fields.Status, v.Fields.CreatedAt, jobs.FieldChannel, contracts.FieldEventID, contracts.FieldEventType},
	}, settle, r.job)
	if err != nil {
		return of, fmt.Errorf("settle jobs: %w", err)
	}
	return of, nil
}

// job tells what settles a job; ok is false where nothing has to. One that does not say
// when it was created may be of the export.
func (r *Restore) job(d dlq.Doc) (l leftover, ok bool) {
	fields := jobs.Complete(d.Fields, d.ID)
	text := func(field string) string { s, _ := fields[field].(string); return s }
	channel := text(jobs.FieldChannel)
	v := jobs.Vocabulary()
	created, _ := d.Fields[v.Fields.CreatedAt].(time.Time)
	if channel == "" || channel == jobs.ChannelInApp || !created.Before(r.Before) {
		return l, false
	}
	id := r.NewID()
	return leftover{
		doc: d,
		write: dlq.Write{Collection: v.Collection, ID: d.ID, Op: dlq.OpUpdate, IfUnchangedSince: d.UpdateTime, Fields: map[string]any{
			v.Fields.Status: outbox.JobFailed, v.Fields.LastErrorCode: jobs.CodeRestored, v.Fields.UpdatedAt: dlq.ServerTime{}, v.Fields.LockedAt: nil,
			v.Fields.LastError: "it was open in an export of Firestore: nobody can know whether it was sent since", FieldRestored: id,
		}},
		entry: &dlq.Entry{
			ID: id, Actor: r.By, Action: actionRestore, Subject: dlq.SubjectQueueItem, On: v.Collection + "/" + d.ID,
			From: text(v.Fields.Status), To: outbox.JobFailed, Reason: r.reason("a job"), EventID: text(contracts.FieldEventID), EventType: text(contracts.FieldEventType),
		},
	}, true
}
