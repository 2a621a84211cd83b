package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/restore"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
	relayfirestore "outboxrelay/relay/firestore"
	"outboxrelay/relay/workqueue/desk"
	"outboxrelay/relay/workqueue/jobs"
)

// addJob writes a job that was emitted a minute before the export.
func (a *archive) addJob(id, channel, status string, fields map[string]any) {
	a.t.Helper()
	job := map[string]any{
		"id": id, "channel": channel, "status": status, "createdAt": a.at.Add(-time.Minute), "eventId": "event-1", "eventType": "matter.created",
		"recipientId": "ann", "templateId": "mc", "attempts": 0, "nextAttemptAt": nil,
	}
	maps.Copy(job, fields)
	a.set(outbox.Jobs, id, job)
}

// jobStates are status and code of the jobs, by ID.
func (a *archive) jobStates() map[string]string {
	a.t.Helper()
	docs, err := a.docs.Collection(outbox.Jobs).Documents(a.t.Context()).GetAll()
	if err != nil {
		a.t.Fatal(err)
	}
	out := make(map[string]string)
	for _, d := range docs {
		out[d.Ref.ID] = fmt.Sprint(d.Data()["status"])
		if code := d.Data()["lastErrorCode"]; code != nil {
			out[d.Ref.ID] += fmt.Sprint(" ", code)
		}
	}
	return out
}

// A job that was open in the export and is sent again was sent twice: at most once is
// the promise.
func TestRestoreLeavesJobsThatMayHaveBeenSentToAPerson(t *testing.T) {
	a := openArchive(t)
	a.addJob("pubsub", "pubsub", outbox.JobPending, nil)
	a.addJob("email", "email", outbox.JobPending, map[string]any{"attempts": 2, "lastErrorCode": "NOT_SENT", "nextAttemptAt": a.at.Add(time.Hour)})
	a.addJob("in hand", "pubsub", outbox.JobProcessing, map[string]any{"lockedAt": a.at.Add(-time.Second), "lockOwner": "worker-1"})
	a.addJob("of old", "email", outbox.JobPending, map[string]any{"createdAt": nil})
	a.addJob("of a channel that is gone", "sms", outbox.JobPending, nil)
	a.addJob("in app", "in_app", outbox.JobPending, nil)
	a.addJob("newer", "pubsub", outbox.JobPending, map[string]any{"createdAt": a.at.Add(time.Minute)})
	a.addJob("sent", "pubsub", outbox.JobSent, nil)
	a.addJob("dead", "email", outbox.JobDead, map[string]any{"lastErrorCode": "REFUSED"})
	byKey := map[bool]string{true: "notification_dispatch:o:matter.created:matter:m:ann:in_app:mc", false: "notification_dispatch:o:matter.created:matter:m:ann:email:mc"}
	for _, key := range byKey { // whose channel stands in the ID alone
		a.set(outbox.Jobs, key, map[string]any{"status": "pending", "createdAt": a.at.Add(-time.Minute), "eventId": "event-1"})
	}
	a.set(outbox.Jobs, "no job", map[string]any{"status": "pending", "createdAt": a.at.Add(-time.Minute)})

	was := a.jobStates()
	if got := a.restore("--as", "delivered", "--dry-run"); got.code != shell.ExitOK || !strings.Contains(got.stdout, "jobs that may have been sent since the export, to be made failed: 6\n") {
		t.Errorf("dry run: %+v", got)
	}
	if diff := cmp.Diff(was, a.jobStates()); diff != "" {
		t.Errorf("a dry run changed jobs (-was +is):\n%s", diff)
	}
	a.decided("--as", "delivered", "--outbox", "wsOutbox")
	want := map[string]string{
		"pubsub": "failed RESTORED", "email": "failed RESTORED", "in hand": "failed RESTORED", "of old": "failed RESTORED", "of a channel that is gone": "failed RESTORED",
		"in app": "pending", "newer": "pending", "sent": "sent", "dead": "dead REFUSED", "no job": "pending",
		byKey[true]: "pending", byKey[false]: "failed RESTORED",
	}
	if diff := cmp.Diff(want, a.jobStates()); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if got := a.restore("--as", "delivered", "--dry-run"); !strings.Contains(got.stdout, "to be made failed: 0\n") {
		t.Errorf("a second run finds more: %+v", got)
	}
	a.requeues("in hand")
}

// requeues has a person decide that a restored job is sent after all.
func (a *archive) requeues(id string) {
	a.t.Helper()
	of, err := desk.New(desk.Config{Client: a.docs.Client, Views: []desk.View{jobs.View()}})
	if err != nil {
		a.t.Fatal(err)
	}
	path := outbox.Jobs + "/" + id
	decided, err := a.queue().Audit(a.t.Context(), dlq.AuditFilter{On: path, Subject: dlq.SubjectQueueItem}, dlq.Page{})
	if err != nil || len(decided.Items) != 1 || decided.Items[0].Actor != "alice@example.com" || decided.Items[0].From != outbox.JobProcessing || decided.Items[0].EventID != "event-1" {
		a.t.Errorf("the audit of %s has %+v, %v", path, decided.Items, err)
	}
	got, err := of.Requeue(a.t.Context(), "jobs", path, desk.Requeue{Actor: dlq.Actor{Name: "alice@example.com", Role: dlq.Operator}, Reason: "it was not sent"})
	if err != nil || got.Item.Status != outbox.JobPending || !strings.Contains(got.Warning, "twice") {
		a.t.Errorf("requeue: %+v, %v", got, err)
	}
}

// shaky is a store whose commits may be lost, before or after they are applied.
type shaky struct {
	dlq.Store
	commit func(n int, apply func() error) error
	n      int
}

func (s *shaky) Commit(ctx context.Context, writes []dlq.Write) (at time.Time, err error) {
	s.n++
	err = s.commit(s.n, func() error { at, err = s.Store.Commit(ctx, writes); return err })
	return at, err
}

// run settles as delivered, with commits as they are given.
func (a *archive) run(commit func(n int, apply func() error) error) (*restore.Report, error) {
	a.t.Helper()
	r, err := restore.New(restore.Config{
		Records: relayfirestore.New(a.docs, a.docs), Letters: &shaky{Store: dlqfirestore.New(a.docs), commit: commit}, Queue: a.queue(), Catalog: a.catalog,
		As: restore.AsDelivered, Before: a.at, By: "alice@example.com", Reason: "lost",
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return r.Run(a.t.Context())
}

// jobsOnly is an archive of 120 jobs, three commits of them.
func jobsOnly(t *testing.T) *archive {
	a := &archive{t: t, cloud: startCloud(t), at: time.Now(), before: make(map[string]*contracts.Record)}
	a.docs, a.catalog = mustDialFirestore(t, a.cloud.at), testCatalog(t)
	for n := range 120 {
		a.addJob(fmt.Sprintf("job-%03d", n), "pubsub", outbox.JobPending, nil)
	}
	return a
}

func (a *archive) failedJobs() (n int) {
	for _, state := range a.jobStates() {
		if state == "failed RESTORED" {
			n++
		}
	}
	return n
}

func TestRestoreOfJobsGoesOnAfterAnInterruption(t *testing.T) {
	a := jobsOnly(t)
	cut := errors.New("cut off")
	report, err := a.run(func(n int, apply func() error) error {
		if n == 2 {
			return cut
		}
		return apply()
	})
	if !errors.Is(err, cut) || report.Jobs.Settled != 50 || a.failedJobs() != 50 {
		t.Errorf("cut off: %+v, %v, %d failed", report, err, a.failedJobs())
	}
	report, err = a.run(func(_ int, apply func() error) error { return apply() })
	if err != nil || report.Jobs != (restore.Leftovers{Found: 70, Settled: 70}) || a.failedJobs() != 120 {
		t.Errorf("again: %+v, %v, %d failed", report, err, a.failedJobs())
	}
}

// A commit whose answer is lost is refused when it is sent again, as is one of which
// somebody else has changed a job.
func TestRestoreOfJobsKnowsWhatIsItsOwn(t *testing.T) {
	a := jobsOnly(t)
	report, err := a.run(func(n int, apply func() error) error {
		switch n {
		case 1:
			if err := apply(); err != nil {
				return err
			}
		case 2 + 50: // the second page of jobs, after each of the first was looked at
			a.addJob("job-050", "pubsub", outbox.JobSent, nil)
		}
		return apply()
	})
	if err != nil || report.Jobs != (restore.Leftovers{Found: 120, Settled: 119}) || a.failedJobs() != 119 || a.jobStates()["job-050"] != outbox.JobSent {
		t.Errorf("%+v, %v, %d failed", report.Jobs, err, a.failedJobs())
	}
}
