package restore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts/inbox/firestore"
	"outboxrelay/dlq"
)

// longestLease is more than any consumer has a message: Google's client extends its
// deadline for an hour at most.
const longestLease = time.Hour

// openEvents are what consumers have open whose inbox is in this Firestore.
func openEvents(states ...string) dlq.Query {
	return dlq.Query{
		Collection: firestore.Collection, Where: []dlq.Where{{Field: firestore.FieldState, Op: "in", Value: states}},
		Select: []string{firestore.FieldState, firestore.FieldConsumer, firestore.FieldEventID, firestore.FieldLeaseUntil},
	}
}

// events finds what consumers had open in the export, and deletes it: the rest was
// handled and acknowledged since, so that nobody would end it, and later events of its aggregate
// would wait for the retention. What comes again all the same is handled anew.
func (r *Restore) events(ctx context.Context, settle bool) (Leftovers, error) {
	of, err := r.leftovers(ctx, openEvents(firestore.StateClaimed, firestore.StateWaiting), settle, func(d dlq.Doc) (l leftover, ok bool) {
		lease, _ := d.Fields[firestore.FieldLeaseUntil].(time.Time)
		if !lease.Before(r.Before.Add(longestLease)) {
			return l, false
		}
		text := func(field string) string { s, _ := d.Fields[field].(string); return s }
		return leftover{
			doc:   d,
			write: dlq.Write{Collection: firestore.Collection, ID: d.ID, Op: dlq.OpDelete, IfUnchangedSince: d.UpdateTime},
			entry: &dlq.Entry{
				ID: r.NewID(), Actor: r.By, Action: actionRestore, Subject: dlq.SubjectOutbox, On: firestore.Collection + "/" + d.ID,
				From: text(firestore.FieldState), Reason: r.reason("an event that " + text(firestore.FieldConsumer) + " had open"), EventID: text(firestore.FieldEventID),
			},
		}, true
	})
	if err != nil {
		return of, fmt.Errorf("settle events of consumers: %w", err)
	}
	return of, nil
}

// HandlingError tells that consumers are at work, or seem to be.
type HandlingError struct{ Until map[string]time.Time } // the last lease of each

func (e *HandlingError) Error() string {
	names := slices.Sorted(maps.Keys(e.Until))
	for i, name := range names {
		names[i] = fmt.Sprintf("%s, until %s", name, e.Until[name].UTC().Format(time.RFC3339))
	}
	return "consumers handle events: " + strings.Join(names, "; ") + ". Stop them first; what an import brought back looks as if it were handled until its lease ends, so wait for that after it"
}

// unhandled fails while a consumer may be handling an event whose claim is about to be
// deleted.
func (r *Restore) unhandled(ctx context.Context) error {
	until := make(map[string]time.Time)
	_, err := r.leftovers(ctx, openEvents(firestore.StateClaimed), false, func(d dlq.Doc) (none leftover, _ bool) {
		consumer, _ := d.Fields[firestore.FieldConsumer].(string)
		if lease, _ := d.Fields[firestore.FieldLeaseUntil].(time.Time); lease.After(d.ReadTime) && lease.After(until[consumer]) {
			until[consumer] = lease
		}
		return none, false
	})
	if err == nil && len(until) > 0 {
		err = &HandlingError{until}
	}
	return err
}
