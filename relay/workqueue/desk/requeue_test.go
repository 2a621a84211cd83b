package desk_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/desk"
)

func testRequeueJobs(t *testing.T, r *rig) {
	ask := desk.Requeue{Actor: operator, Reason: " the relay is mended "}
	for _, tc := range []struct {
		status, refusal, warning string
		change                   map[string]any
	}{
		{status: "failed", warning: "twice", change: map[string]any{"lastErrorCode": "MAYBE_SENT"}},
		{status: "dead", change: map[string]any{"attempts": 5, "lastErrorCode": "NOT_SENT", "lastError": "no"}},
		{status: "pending", refusal: "pending already"},
		{status: "sent", refusal: "sent already"},
		{status: "processing", refusal: "jobs-1/2 has it, with a lease until", change: map[string]any{"lockedAt": time.Now()}},
		{status: "processing", refusal: "has it, with a lease until", change: map[string]any{"lockedAt": began}},
		{status: "strange", refusal: "is none of queue jobs"},
	} {
		path := r.job("org-1", tc.status, 0, tc.change)
		before := r.fields(path)
		i, err := r.QueueItem(t.Context(), "jobs", path)
		if err != nil {
			t.Fatal(err)
		}
		warning, no := r.Judge(i, operator)
		done, err := r.Requeue(t.Context(), "jobs", path, ask)
		if tc.refusal != "" {
			if why := refused(t, err, dlq.Conflict); !strings.Contains(why.Detail, tc.refusal) || why.Hint == "" || no == nil || no.Detail != why.Detail {
				t.Errorf("%s: refused as %+v, judged as %+v, want %q", tc.status, why, no, tc.refusal)
			}
			if now := r.fields(path); now["status"] != before["status"] || len(r.audit(path)) != 0 {
				t.Errorf("%s: a refusal changed something: %v", tc.status, now)
			}
			continue
		}
		if err != nil || no != nil || !strings.Contains(warning, tc.warning) || done.Warning != warning || (tc.warning == "") != (warning == "") {
			t.Fatalf("%s: got %+v, %v, judged %q, %v", tc.status, done, err, warning, no)
		}
		now := r.fields(path)
		if due, _ := now["nextAttemptAt"].(time.Time); now["status"] != "pending" || now["attempts"] != int64(0) || now["lastErrorCode"] != before["lastErrorCode"] || due.Before(began.Add(time.Hour)) {
			t.Errorf("%s: it stands as %v", tc.status, now)
		}
		again, err := r.QueueItem(t.Context(), "jobs", path)
		if err != nil || !again.UpdatedAt.Equal(done.Item.UpdatedAt) || again.Status != done.Item.Status {
			t.Errorf("%s: told %+v, stands as %+v, %v", tc.status, done.Item, again, err)
		}
		entries := r.audit(path)
		if len(entries) != 1 || entries[0]["actor"] != operator.Name || entries[0]["action"] != "requeue" || entries[0]["reason"] != "the relay is mended" ||
			entries[0]["from"] != tc.status || entries[0]["to"] != "pending" || entries[0]["subject"] != string(dlq.SubjectQueueItem) || entries[0]["eventId"] != "e-1" ||
			done.Entry.At.Before(entries[0]["at"].(time.Time)) {
			t.Errorf("%s: the audit has %v, told %+v", tc.status, entries, done.Entry)
		}
	}
	path := r.job("org-1", "failed", 0, nil)
	_, err := r.Requeue(t.Context(), "jobs", path, desk.Requeue{Actor: viewer, Reason: "x"})
	refused(t, err, dlq.Forbidden)
	_, err = r.Requeue(t.Context(), "jobs", path, desk.Requeue{Actor: operator})
	refused(t, err, dlq.Invalid)
	_, err = r.Requeue(t.Context(), "jobs", path, desk.Requeue{Actor: operator, Reason: "x", Seen: began})
	refused(t, err, dlq.Changed)
	i, err := r.QueueItem(t.Context(), "jobs", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Requeue(t.Context(), "jobs", path, desk.Requeue{Actor: operator, Reason: "x", Seen: i.UpdatedAt}); err != nil {
		t.Errorf("of what was seen: %v", err)
	}
}

func testRequeueNotifications(t *testing.T, r *rig) {
	path := r.event(palms, "failed", 0, map[string]any{"processedAt": began, "lastErrorCode": "UNAVAILABLE"})
	letter := strings.Replace(path, "notificationEvents", "notificationDeadLetters", 1)
	r.set(letter, map[string]any{"errorCode": "UNAVAILABLE"}, nil)
	done, err := r.Requeue(t.Context(), "notifications", path, desk.Requeue{Actor: operator, Reason: "x"})
	if err != nil || done.Warning != "" || done.Item.Status != "pending_dispatch" {
		t.Fatalf("got %+v, %v", done, err)
	}
	now := r.fields(path)
	if processed, there := now["processedAt"]; now["status"] != "pending_dispatch" || now["attempts"] != int64(0) || processed != nil || !there || now["lockUntil"] != nil {
		t.Errorf("it stands as %v", now)
	}
	if _, has := now["updatedAt"]; has {
		t.Error("it has a field that the contract does not know")
	}
	if r.fields(letter)["errorCode"] != "UNAVAILABLE" || len(r.audit(path)) != 1 {
		t.Error("its dead letter is gone, or the audit does not tell")
	}
	_, err = r.Requeue(t.Context(), "notifications", r.event(palms, "emitted", 0, nil), desk.Requeue{Actor: operator, Reason: "x"})
	refused(t, err, dlq.Conflict)
}

// testRequeueRace: of many who decide at once, one does.
func testRequeueRace(t *testing.T, r *rig) {
	path := r.job("org-1", "dead", 0, nil)
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := r.Requeue(t.Context(), "jobs", path, desk.Requeue{Actor: operator, Reason: "x"})
			switch {
			case err == nil:
				won.Add(1)
			case dlq.AsRefusal(err) == nil:
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
	wg.Wait()
	if n := won.Load(); n != 1 || len(r.audit(path)) != 1 {
		t.Errorf("%d have won, and the audit has %d entries, want one", n, len(r.audit(path)))
	}
}
