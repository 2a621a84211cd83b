package main

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
	inboxfirestore "outboxrelay/contracts/inbox/firestore"
	"outboxrelay/dlq"
)

// claimed asks for an event of a consumer and tells the verdict.
func (a *archive) claimed(aggregate, eventID string, version int64) inbox.Claim {
	a.t.Helper()
	c, err := inboxfirestore.New(a.docs.Client).Claim(a.t.Context(), inbox.Ask{
		Ref: inbox.Ref{Consumer: "receipts", EventID: eventID, Token: "token of " + eventID}, AggregateID: aggregate, Version: version,
		Lease: 45 * time.Second, Keep: inbox.DefaultRetention,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// leaseEnds has the last claim of an event be as old as if its lease had ended then.
func (a *archive) leaseEnds(eventID string, at time.Time) {
	a.t.Helper()
	docs, err := a.docs.Collection(inboxfirestore.Collection).Where(inboxfirestore.FieldEventID, "==", eventID).Documents(a.t.Context()).GetAll()
	if err != nil || len(docs) != 1 {
		a.t.Fatalf("%d documents of %s: %v", len(docs), eventID, err)
	}
	if _, err := docs[0].Ref.Update(a.t.Context(), []firestore.Update{{Path: inboxfirestore.FieldLeaseUntil, Value: at}}); err != nil {
		a.t.Fatal(err)
	}
}

// An event that a consumer had open in the export, and that was handled since, held back
// its aggregate until the end of the retention.
func TestRestoreLetsGoOfWhatConsumersHadOpen(t *testing.T) {
	a := &archive{t: t, cloud: startCloud(t), at: time.Now().Add(-3 * time.Hour), before: make(map[string]*contracts.Record)}
	a.docs = mustDialFirestore(t, a.cloud.at)
	a.file, a.catalog = variant(t)
	store := inboxfirestore.New(a.docs.Client)
	for aggregate, lease := range map[string]time.Time{
		"claimed": a.at.Add(44 * time.Second), "waiting": a.at.Add(-time.Minute), "processed": a.at, "after": a.at.Add(2 * time.Hour),
	} {
		ref := inbox.Ref{Consumer: "receipts", EventID: aggregate + "-1", Token: "token of " + aggregate + "-1"}
		if c := a.claimed(aggregate, ref.EventID, 1); c.Verdict != inbox.Claimed {
			t.Fatalf("claim of %s: %+v", ref.EventID, c)
		}
		var err error
		switch aggregate {
		case "waiting", "after":
			err = store.GiveBack(t.Context(), ref, contracts.AttemptError{Code: "Failed", Message: "no", Attempt: 1}, 30*time.Minute)
		case "processed":
			err = store.Settle(t.Context(), ref, inbox.EndProcessed, inbox.DefaultRetention)
		}
		if err != nil {
			t.Fatal(err)
		}
		a.leaseEnds(ref.EventID, lease)
	}
	verdicts := func() map[string]inbox.Verdict {
		out := make(map[string]inbox.Verdict)
		for _, aggregate := range []string{"claimed", "waiting", "processed", "after"} {
			out[aggregate] = a.claimed(aggregate, aggregate+"-2", 2).Verdict
			if out[aggregate] == inbox.Claimed {
				ref := inbox.Ref{Consumer: "receipts", EventID: aggregate + "-2", Token: "token of " + aggregate + "-2"}
				if err := store.Settle(t.Context(), ref, inbox.EndDead, inbox.DefaultRetention); err != nil {
					t.Fatal(err)
				}
			}
		}
		return out
	}
	if diff := cmp.Diff(map[string]inbox.Verdict{"claimed": inbox.Behind, "waiting": inbox.Behind, "processed": inbox.Claimed, "after": inbox.Behind}, verdicts()); diff != "" {
		t.Fatalf("before the restore (-want +got):\n%s", diff)
	}
	if got := a.restore("--as", "delivered", "--dry-run"); got.code != shell.ExitOK || !strings.Contains(got.stdout, "to be deleted from inbox-events: 2\n") {
		t.Errorf("dry run: %+v", got)
	}
	a.decided("--as", "delivered")
	if diff := cmp.Diff(map[string]inbox.Verdict{"claimed": inbox.Claimed, "waiting": inbox.Claimed, "processed": inbox.Dead, "after": inbox.Behind}, verdicts()); diff != "" {
		t.Errorf("after the restore (-want +got):\n%s", diff)
	}
	if c := a.claimed("waiting", "waiting-1", 1); c.Verdict != inbox.Claimed || c.Failures != 0 {
		t.Errorf("an event that comes again all the same: %+v, want it handled anew", c)
	}
	audit, err := a.queue().Audit(t.Context(), dlq.AuditFilter{Subject: dlq.SubjectOutbox}, dlq.Page{})
	if err != nil || len(audit.Items) != 2 || !strings.HasPrefix(audit.Items[0].On, "inbox-events/receipts:") || !strings.Contains(audit.Items[0].Reason, "an event that receipts had open") {
		t.Errorf("the audit has %+v, %v", audit.Items, err)
	}
}

// Beside a consumer that handles an event, its claim would be taken from it.
func TestRestoreRefusesBesideAConsumer(t *testing.T) {
	a := openArchive(t)
	a.claimed("wallet-1", "event-1", 1)
	was := a.statuses()
	got := a.restore("--as", "delivered", "--by", "a", "--reason", "b", "--yes")
	if got.code != shell.ExitConflict || !strings.Contains(got.stderr, "consumers handle events: receipts, until ") {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(was, a.statuses()); diff != "" {
		t.Errorf("what was refused settled records (-was +is):\n%s", diff)
	}
	a.leaseEnds("event-1", time.Now().Add(-time.Minute))
	a.decided("--as", "delivered")
}
