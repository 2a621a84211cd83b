package doctor

import (
	"context"
	"time"

	sdk "cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"

	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/dlq/firestore/lastanswer"
)

// probes is the collection of the doctor's own document, which is there for a
// moment and holds nothing of anybody's.
const probes = "relay-doctor"

const (
	firestoreAPI  = "firestore.googleapis.com"
	firestoreRole = "roles/datastore.user"
)

// The checks of Firestore that need one that answers.
var firestoreChecks = []string{
	"firestore.query", "firestore.count", "firestore.transaction", "firestore.listen", "firestore.write", "clock", "firestore.database",
	"indexes", "ttl", "exemptions", "outboxes", "leases",
}

// firestore looks at the database: each kind of call that the service makes, then
// what it holds.
func (e *exam) firestore(ctx context.Context) Group {
	g := Group{Name: "firestore"}
	client := e.reachFirestore(ctx, &g)
	if client == nil {
		g.skipAll(firestoreChecks, "Firestore cannot be asked")
		return g
	}
	defer client.Close() //nolint:errcheck // nothing was left to write
	for _, call := range firestoreCalls {
		e.try(ctx, &g, client.Client, call)
	}
	e.clock(ctx, &g, client.Client)
	e.definitions(ctx, &g, client.Client)
	e.outboxes(ctx, &g, client)
	e.leases(ctx, &g, client)
	return g
}

// reachFirestore connects and reads a document that does not exist; nil after a
// finding that says why nothing else can be asked.
func (e *exam) reachFirestore(ctx context.Context, g *Group) *dlqfirestore.Client {
	const check = "firestore.read"
	if !e.mayAsk(ctx, g, check, e.Firestore, "--firestore") {
		return nil
	}
	ctx, cancel := within(ctx)
	defer cancel()
	did := "read " + probes + "/none"
	client, err := e.OpenFirestore(ctx)
	if err != nil {
		g.add(Finding{Check: check, Result: Fail, Did: "connect to Firestore", Detail: why(err), Hint: "the client itself cannot be made: mend what it says of credentials or addresses"})
		return nil
	}
	snap, err := client.Collection(probes).Doc("none").Get(ctx)
	switch {
	case snap != nil: // it says itself that the document does not exist
		g.ok(check, did, "documents can be read")
		return client
	case codeOf(err) == codes.NotFound:
		g.add(Finding{
			Check: check, Result: Fail, Did: did, Detail: why(err), Mend: []string{e.createDatabase()},
			Hint: "choose the location first: it is for good",
		})
	default:
		g.add(e.refused(check, did, firestoreAPI, firestoreRole, err))
		if codeOf(err) == codes.PermissionDenied { // it answers: the rest may differ
			return client
		}
	}
	_ = client.Close() // nothing was written
	return nil
}

// firestoreCall is one kind of call that the service makes, made harmlessly.
type firestoreCall struct {
	check, did, fine string
	do               func(context.Context, *sdk.Client) error
}

var firestoreCalls = []firestoreCall{
	{"firestore.query", "query " + probes + ", one document at most", "queries are answered", func(ctx context.Context, c *sdk.Client) error {
		_, err := c.Collection(probes).Limit(1).Documents(ctx).GetAll()
		return err
	}},
	{"firestore.count", "count " + probes, "documents can be counted", func(ctx context.Context, c *sdk.Client) error {
		q := c.Collection(probes).Limit(1)
		_, err := q.NewAggregationQuery().WithCount("n").Get(ctx)
		return err
	}},
	{"firestore.transaction", "query " + probes + " in a transaction that only reads", "several reads can be of one moment", func(ctx context.Context, c *sdk.Client) error {
		return c.RunTransaction(ctx, func(_ context.Context, tx *sdk.Transaction) error {
			_, err := tx.Documents(c.Collection(probes).Limit(1)).GetAll()
			return err
		}, sdk.ReadOnly)
	}},
	{"firestore.listen", "listen to " + probes + " until its first snapshot", "listeners are answered", listen},
	{"firestore.write", "create, change and delete a document of " + probes, "documents can be written", write},
}

// try makes one call.
func (e *exam) try(ctx context.Context, g *Group, client *sdk.Client, call firestoreCall) {
	ctx, cancel := within(ctx)
	defer cancel()
	ctx, last := lastanswer.Keep(ctx)
	if err := call.do(ctx, client); err != nil {
		g.add(e.refused(call.check, call.did, firestoreAPI, firestoreRole, last.Explain(err)))
		return
	}
	g.ok(call.check, call.did, "%s", call.fine)
}

// listen opens a listener and ends it with its first snapshot. Its context has to
// end: stopping alone leaves the stream behind.
func listen(ctx context.Context, client *sdk.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	snaps := client.Collection(probes).Limit(1).Snapshots(ctx)
	defer snaps.Stop()
	_, err := snaps.Next()
	return err
}

// write makes a document of its own, changes it and removes it. It is removed also
// when something goes wrong in between, or ctx ends.
func write(ctx context.Context, client *sdk.Client) (err error) {
	doc := client.Collection(probes).NewDoc()
	if _, err := doc.Create(ctx, map[string]any{"by": "outbox-relay doctor", "at": sdk.ServerTimestamp}); err != nil {
		if codeOf(err) != codes.DeadlineExceeded && codeOf(err) != codes.Canceled {
			return err
		}
		defer remove(ctx, doc) // it may have been made all the same
		return err
	}
	gone := false
	defer func() {
		if !gone {
			remove(ctx, doc)
		}
	}()
	if _, err := doc.Update(ctx, []sdk.Update{{Path: "by", Value: "outbox-relay doctor, changed"}}); err != nil {
		return err
	}
	_, err = doc.Delete(ctx)
	gone = err == nil
	return err
}

// removeWithin bounds the removal of a document behind the end of a check.
const removeWithin = 3 * time.Second

func remove(ctx context.Context, doc *sdk.DocumentRef) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	_, _ = doc.Delete(ctx) // the check has failed already
}
