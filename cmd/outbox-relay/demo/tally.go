package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"outboxrelay/contracts/outbox"
	"outboxrelay/relay/workqueue/notifications"
)

// Tally is what came of the samples: of one run, whatever an earlier one left in the same
// data directory.
type Tally struct {
	Events, Dispatched int64 // events, and those that are dispatched
	Bells              int64 // notifications in bells, also those of earlier runs
	Jobs, Sent         int64
	Complete           bool // no more will be made, and all of it is done
}

// String tells of it on one line.
func (t Tally) String() string {
	return fmt.Sprintf("notifications %d of %d dispatched, %d in bells; jobs %d of %d sent", t.Dispatched, t.Events, t.Bells, t.Sent, t.Jobs)
}

// look counts. What cannot be counted stays as it was.
func (t *Tenants) look(ctx context.Context, seed string, made int64) Tally {
	now := t.Tally()
	now.Events, now.Jobs = max(made, now.Events), max(made, now.Jobs)
	var dispatched, sent []firestore.Query
	for _, tenant := range condominiums {
		events := t.Client.Collection(tenant.Path() + "/" + notifications.CollectionEvents)
		dispatched = append(dispatched, ofRun(events, seed).Where("status", "==", notifications.StatusEmitted))
	}
	for _, clientID := range clients() {
		event, job := matter(clientID, seed)
		begin, _, _ := strings.Cut(outbox.JobKey(&event, &job), seed)
		sent = append(sent, ofRun(t.Client.Collection(outbox.Jobs), begin+seed).Where("status", "==", outbox.JobSent))
	}
	count(ctx, &now.Dispatched, dispatched...)
	count(ctx, &now.Bells, t.Client.CollectionGroup(notifications.CollectionBells).Query)
	count(ctx, &now.Sent, sent...)
	now.Complete = t.Count > 0 && made == int64(t.Count) && now.Dispatched >= made && now.Sent >= made
	t.mu.Lock()
	t.tally = now
	t.mu.Unlock()
	return now
}

// clients are those of the condominiums, each once.
func clients() (ids []string) {
	for _, tenant := range condominiums {
		if !slices.Contains(ids, tenant.ClientID) {
			ids = append(ids, tenant.ClientID)
		}
	}
	return ids
}

// ofRun are the documents whose IDs begin with begin and a hyphen, as those of one run do.
func ofRun(c *firestore.CollectionRef, begin string) firestore.Query {
	const behind = "." // the character after the hyphen
	return c.Where(firestore.DocumentID, ">=", c.Doc(begin+"-")).Where(firestore.DocumentID, "<", c.Doc(begin+behind))
}

// count puts into n what all queries find together; where one fails, n stays as it was.
func count(ctx context.Context, n *int64, queries ...firestore.Query) {
	var sum int64
	for _, q := range queries {
		result, err := q.NewAggregationQuery().WithCount("n").Get(ctx)
		value, ok := result["n"].(*firestorepb.Value)
		if err != nil || !ok {
			return
		}
		sum += value.GetIntegerValue()
	}
	*n = sum
}
