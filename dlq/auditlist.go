package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"outboxrelay/contracts"
)

// AuditFilter selects audit entries. A zero field does not narrow it.
type AuditFilter struct {
	Actor, Action, On, TraceID string
	Subject                    Subject
	From, To                   time.Time // at or after, before
}

// entryConditions is what an AuditFilter compares for equality. Each has its
// index; see Indexes.
var entryConditions = []condition[AuditFilter]{
	{auditActor, func(f AuditFilter) any { return unlessEmpty(f.Actor) }},
	{fieldAction, func(f AuditFilter) any { return unlessEmpty(f.Action) }},
	{AuditFieldOn, func(f AuditFilter) any { return unlessEmpty(f.On) }},
	{contracts.FieldTraceID, func(f AuditFilter) any { return unlessEmpty(f.TraceID) }},
	{AuditFieldSubject, func(f AuditFilter) any { return unlessEmpty(f.Subject) }},
}

// anytime is the filter without its range of time; see Filter.
func (f AuditFilter) anytime() AuditFilter {
	f.From, f.To = time.Time{}, time.Time{}
	return f
}

// check refuses values that nothing can have, all of them at once.
func (f AuditFilter) check() error {
	var faults []string
	if all := Subjects(); f.Subject != "" && !slices.Contains(all, f.Subject) {
		faults = append(faults, fmt.Sprintf("subject %q is none of %v", f.Subject, all))
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		faults = append(faults, fmt.Sprintf("from %s is not before to %s", clock(f.From), clock(f.To)))
	}
	for _, c := range entryConditions {
		if text, ok := c.want(f).(string); ok {
			faults = append(faults, TextFaults(c.field, text)...)
		}
	}
	return refuseFilter(faults)
}

// Subjects lists the kinds of thing that a decision is about.
func Subjects() []Subject {
	return []Subject{SubjectDeadLetter, SubjectFreeze, SubjectLane, SubjectBulk, SubjectOutbox, SubjectQueueItem, SubjectAccess}
}

// Audit reads one page of the audit entries that f selects, the latest first.
func (q *Queue) Audit(ctx context.Context, f AuditFilter, p Page) (Paged[*Entry], error) {
	if err := f.check(); err != nil {
		return Paged[*Entry]{}, err
	}
	query := Query{
		Collection: contracts.CollectionAudit, OrderBy: latestEntry,
		Where: append(conditionsOf(entryConditions, f), between(fieldAt, f.From, f.To)...),
	}
	return page(ctx, q, "audit entries", query, f.anytime(), p, DecodeEntry)
}

// Record writes an entry that belongs to no other change, as of somebody who
// was turned away. It gives the entry an ID where it has none; one whose ID
// stands already is written.
func (q *Queue) Record(ctx context.Context, e *Entry) error {
	if e.ID == "" {
		e.ID = q.newID()
	}
	_, err := q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := q.get(ctx, contracts.CollectionAudit, e.ID)
		if err != nil {
			return nil, err
		}
		if doc.Exists() {
			return nil, nil
		}
		return []Write{e.Write()}, nil
	})
	if err != nil {
		return fmt.Errorf("record %s: %w", e.Action, err)
	}
	return nil
}
