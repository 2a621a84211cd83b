package jobs

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"

	"outboxrelay/contracts/outbox"
	"outboxrelay/deploy/local"
	"outboxrelay/relay/workqueue"
)

// abandon makes a job one whose worker died long since, in the attempt after so many.
func (r *rig) abandon(job *firestore.DocumentRef, attempts int) {
	r.t.Helper()
	if _, err := job.Update(r.t.Context(), []firestore.Update{
		{Path: "status", Value: "processing"},
		{Path: "lockOwner", Value: "gone/1"},
		{Path: "lockedAt", Value: time.Now().Add(-time.Hour)},
		{Path: "attempts", Value: attempts},
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

// A channel that panics may have sent before it did.
func TestChannelPanics(t *testing.T) {
	r := onEmbedded(t)
	var sent atomic.Int64
	r.more = map[string]Channel{"clumsy": channelFunc(func(context.Context, Message) ([]workqueue.Create, error) {
		sent.Add(1)
		panic("after it was sent")
	})}
	job := r.emit("m-1", "clumsy", "ann", "matter-created")
	r.run()
	got := r.until(job, "closed", func(d map[string]any) bool {
		return d["status"] != "pending" && d["status"] != "processing" || d["attempts"] != int64(0)
	})
	if got["status"] != "failed" || got["lastErrorCode"] != codeUnknown || sent.Load() != 1 {
		t.Errorf("sent %d times, job is %v", sent.Load(), got)
	}
}

// An ID that holds a / leads to no document of another collection.
func TestIDsLeadNowhereElse(t *testing.T) {
	r := onEmbedded(t)
	for path, fields := range map[string]map[string]any{
		"users/ann/private/x":       {"email": "secret@example.com"},
		"domain_events/e/private/x": {"payload": map[string]any{"name": "Smith"}, "actor": "bob"},
	} {
		if _, err := r.client.Doc(path).Set(t.Context(), fields); err != nil {
			t.Fatal(err)
		}
	}
	recipient, event := r.emit("m-1", "email", "ann/private/x", "matter-created"), r.emit("m-2", "in_app", "ann", "matter-created")
	odd := r.emit("m-3", "email", "ann/private", "matter-created")
	if _, err := event.Update(t.Context(), []firestore.Update{{Path: "eventId", Value: "e/private/x"}}); err != nil {
		t.Fatal(err)
	}
	r.run()
	for job, code := range map[*firestore.DocumentRef]string{recipient: codeRecipient, odd: codeRecipient, event: codeNoEvent} {
		got := r.until(job, "closed", func(d map[string]any) bool {
			return d["status"] == "dead" || d["status"] == "sent" || d["attempts"] != int64(0)
		})
		if got["status"] != "dead" || got["lastErrorCode"] != code {
			t.Errorf("job is %v, want it dead, %s", got, code)
		}
	}
	if mails := r.post.messages(); len(mails) != 0 {
		t.Errorf("mails are %q", mails)
	}
}

// While Pub/Sub cannot be reached at all, a job waits: its publish was surely not sent.
func TestPubSubOutOfReach(t *testing.T) {
	r := onEmbedded(t)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := pubsub.NewClient(t.Context(), "p", local.ClientOptions(nobody.Addr().String())...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	nobody.Close() // whoever dials is refused
	r.more = map[string]Channel{"pubsub": NewPubSub(client, "jobs")}
	job := r.emit("m-1", "pubsub", "ann", "matter-created")
	r.run()
	got := r.until(job, "tried", func(d map[string]any) bool { return d["lastErrorCode"] != nil })
	if got["status"] != "pending" || got["lastErrorCode"] != codeFailed || got["attempts"] != int64(1) {
		t.Errorf("job is %v", got)
	}
}

// A template that cuts a letter in two, or writes without end, holds nothing up.
func TestOddTexts(t *testing.T) {
	r := onEmbedded(t)
	event := outbox.DomainEvent{Type: "matter.created", OrgID: "org-1", EntityType: "matter", EntityID: "m-1", Payload: map[string]any{"name": "añb"}}
	var out *outbox.Emitted
	if err := r.client.RunTransaction(t.Context(), func(ctx context.Context, tx *firestore.Transaction) (err error) {
		out, err = outbox.Emit(ctx, r.client, tx, event, outbox.Job{RecipientID: "ann", Channel: "in_app", TemplateID: "cut"}, outbox.Job{RecipientID: "ann", Channel: "in_app", TemplateID: "endless"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r.run()
	cut, endless := r.client.Collection(outbox.Jobs).Doc(out.Jobs[0].Key), r.client.Collection(outbox.Jobs).Doc(out.Jobs[1].Key)
	r.untilStatus(cut, "sent")
	if got := r.get(r.client.Collection(InAppMessages).Doc(cut.ID))["title"]; got != "a\uFFFD" {
		t.Errorf("title is %q", got)
	}
	if got := r.untilStatus(endless, "dead"); got["lastErrorCode"] != codeTemplate {
		t.Errorf("job is %v", got)
	}
}

// The error of what may have been sent is as short as any.
func TestErrorOfWhatMayHaveBeenSentIsShort(t *testing.T) {
	r := onEmbedded(t)
	r.more = map[string]Channel{"long": channelFunc(func(context.Context, Message) ([]workqueue.Create, error) {
		return nil, MaybeSent(errors.New(strings.Repeat("ñ\xff", 5000)))
	})}
	job := r.emit("m-1", "long", "ann", "matter-created")
	r.run()
	got := r.untilStatus(job, "failed")
	if text, _ := got["lastError"].(string); len(text) > 1<<10 || len(text) < 500 {
		t.Errorf("lastError has %d bytes", len(text))
	}
}
