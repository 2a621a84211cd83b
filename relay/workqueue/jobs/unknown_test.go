package jobs

import (
	"testing"
	"time"

	"cloud.google.com/go/firestore"
)

// abandon makes a job one whose worker died long since, in the attempt after so many.
func (r *rig) abandon(job *firestore.DocumentRef, attempts int) {
	r.t.Helper()
	if _, err := job.Update(r.t.Context(), []firestore.Update{
		{Path: "status", Value: "processing"}, {Path: "lockOwner", Value: "gone/1"},
		{Path: "lockedAt", Value: time.Now().Add(-time.Hour)}, {Path: "attempts", Value: attempts},
	}); err != nil {
		r.t.Fatal(err)
	}
}

// A worker dies in the last attempt, or the channel is none of the instance that finds
// the job: what may have been sent is for a person, and what was surely not is dead.
func TestWorkerDiesAndNoAttemptIsLeft(t *testing.T) {
	r := onEmbedded(t)
	last, own, inApp := r.emit("m-1", "email", "ann@example.com", "matter-created"), r.emit("m-2", "email", "ann@example.com", "matter-created"), r.emit("m-3", "in_app", "ann", "matter-created")
	elsewhere := r.emit("m-4", "pigeon", "ann", "matter-created")
	if _, err := own.Update(t.Context(), []firestore.Update{{Path: "maxAttempts", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	r.abandon(last, 4)
	r.abandon(own, 0)
	r.abandon(inApp, 4)
	r.abandon(elsewhere, 0)
	r.run()
	for name, job := range map[string]*firestore.DocumentRef{"the last of five": last, "the only one": own, "a channel of another instance": elsewhere} {
		got := r.until(job, "closed", func(d map[string]any) bool { return d["status"] == "failed" || d["status"] == "dead" })
		if got["status"] != "failed" || got["lastErrorCode"] != codeUnknown {
			t.Errorf("%s: job is %v", name, got)
		}
	}
	if got := r.untilStatus(inApp, "dead"); got["attempts"] != int64(5) {
		t.Errorf("job is %v", got)
	}
	if mails := r.post.messages(); len(mails) != 0 {
		t.Errorf("mails are %q", mails)
	}
}
