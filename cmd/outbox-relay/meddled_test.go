package main

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/cmd/outbox-relay/restore"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
	relayfirestore "outboxrelay/relay/firestore"
)

// meddled is a store whose first commit something happens to.
type meddled struct {
	dlq.Store
	first func(commit func() (time.Time, error)) (time.Time, error)
}

func (m *meddled) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	commit := func() (time.Time, error) { return m.Store.Commit(ctx, writes) }
	if first := m.first; first != nil {
		m.first = nil
		return first(commit)
	}
	return commit()
}

// settledWith runs a restore of accOutbox whose first commit meets something.
func (a *archive) settledWith(first func(commit func() (time.Time, error)) (time.Time, error)) *restore.Report {
	a.t.Helper()
	r, err := restore.New(restore.Config{
		Records: relayfirestore.New(a.docs, a.docs), Letters: &meddled{dlqfirestore.New(a.docs), first}, Queue: a.queue(), Catalog: a.catalog,
		As: restore.AsDelivered, Before: a.at, Outboxes: []string{"accOutbox"}, By: "alice@example.com", Reason: "lost",
	})
	if err != nil {
		a.t.Fatal(err)
	}
	report, err := r.Run(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return report
}

// What somebody else changed between the look and the commit is left to them, and
// the rest of the commit is written all the same.
func TestRestoreLeavesWhatOthersChanged(t *testing.T) {
	a := openArchive(t)
	rec := a.before["pending"]
	report := a.settledWith(func(commit func() (time.Time, error)) (time.Time, error) {
		if _, err := a.docs.Collection(rec.Outbox).Doc(rec.ID).Update(t.Context(), []firestore.Update{{Path: contracts.FieldStatus, Value: "dead"}}); err != nil {
			t.Error(err)
		}
		return commit()
	})
	if got := a.statuses(); got["pending"] != "dead" || got["secret"] != "delivered" {
		t.Errorf("records: %v", got)
	}
	if total := report.Total(); total.Settled < 3 {
		t.Errorf("report %+v, want the others settled", total)
	}
}

// A commit that was applied and whose answer was lost is recognised when the
// next try of it is refused.
func TestRestoreRecognisesItsOwnCommit(t *testing.T) {
	a := openArchive(t)
	report := a.settledWith(func(commit func() (time.Time, error)) (time.Time, error) {
		if _, err := commit(); err != nil {
			t.Error(err)
		}
		return commit()
	})
	if total := report.Total(); total.Settled != total.Found() || total.Found() == 0 {
		t.Errorf("report %+v, want all of it settled", total)
	}
}
