package jobs

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"

	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/relay/workqueue"
)

// Unit: backoff schedule.
func TestBackoffSchedule(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Minute, 2: 5 * time.Minute, 3: 15 * time.Minute, 4: time.Hour, 9: time.Hour} {
		if got := Backoff(n); got != want {
			t.Errorf("after %d failures %v, want %v", n, got, want)
		}
	}
}

func TestTenantIsTheOrganization(t *testing.T) {
	name, last := tenant("outbox/notification_dispatch:org-1:matter.created:matter:m:ann:in_app:t")
	if name != "org-1" || last != "outbox/notification_dispatch:org-1:\U0010FFFF" {
		t.Errorf("tenant %q until %q", name, last)
	}
	if name, last := tenant("outbox/odd"); name != "outbox/odd" || last != name {
		t.Errorf("tenant of an odd ID: %q until %q", name, last)
	}
	long := "outbox/a:" + strings.Repeat("x", 1496) + ":b"
	if name, last := tenant(long); name != long || last != name {
		t.Errorf("tenant of a long ID of %d bytes until a path of %d", len(name), len(last))
	}
}

// A round begins after a name: one that is too long for Firestore would end every round.
func TestALongIDEndsNoRound(t *testing.T)         { longIDEndsNoRound(onEmbedded(t)) }
func TestALongIDEndsNoRoundOnGoogle(t *testing.T) { longIDEndsNoRound(onGoogle(t)) }

func longIDEndsNoRound(r *rig) {
	const jobs = 120 // more than a round takes of one tenant, and than a listener tells of
	for i := range jobs {
		id := fmt.Sprintf("a:%s:%03d", strings.Repeat("x", 1494), i)
		if _, err := r.client.Collection("outbox").Doc(id).Set(context.Background(), map[string]any{"status": "pending"}); err != nil {
			r.t.Fatal(err)
		}
	}
	core, logged := observer.New(zap.WarnLevel)
	r.log = zap.New(core)
	stop := r.run()
	defer stop()
	r.untilStatus(r.emit("m-1", "in_app", "ann", "matter-created"), "sent")
	for i := range jobs {
		r.untilStatus(r.client.Collection("outbox").Doc(fmt.Sprintf("a:%s:%03d", strings.Repeat("x", 1494), i)), "dead")
	}
	if failed := logged.FilterMessage("look for work").All(); len(failed) > 0 {
		r.t.Errorf("%d rounds ended early, the first by %v", len(failed), failed[0].ContextMap())
	}
}

func TestTemplatesAreChecked(t *testing.T) {
	_, err := ParseTemplates([]byte("a:\n  title: '{{'\n  body: x\nb:\n  title: x\n"))
	if err == nil || !strings.Contains(err.Error(), "a.title") || !strings.Contains(err.Error(), "b: body is missing") {
		t.Errorf("ParseTemplates = %v", err)
	}
}

func TestJobIsSent(t *testing.T)         { jobIsSent(onEmbedded(t)) }
func TestJobIsSentOnGoogle(t *testing.T) { jobIsSent(onGoogle(t)) }

func jobIsSent(r *rig) {
	if _, err := r.client.Doc("users/ann").Set(context.Background(), map[string]any{"email": "ann@example.com"}); err != nil {
		r.t.Fatal(err)
	}
	stop := r.run()
	inApp, byMail := r.emit("m-1", "in_app", "ann", "matter-created"), r.emit("m-2", "email", "ann", "matter-created")
	for _, ref := range []*firestore.DocumentRef{inApp, byMail} {
		got := r.untilStatus(ref, "sent")
		if got["sentAt"] == nil || got["attempts"] != int64(0) || got["lockedAt"] != nil || got["lastError"] != nil {
			r.t.Errorf("job is %v", got)
		}
	}
	stop()
	bell := r.get(r.client.Collection(InAppMessages).Doc(inApp.ID))
	if bell["title"] != "New matter Smith" || bell["body"] != "bob has created it, ann." || bell["recipientId"] != "ann" || bell["read"] != false {
		r.t.Errorf("message is %v", bell)
	}
	mails := r.post.messages()
	if len(mails) != 1 || !strings.Contains(mails[0], "Message-ID: <") || !strings.Contains(mails[0], "Subject: New matter Smith") || !strings.Contains(mails[0], "ann@example.com") {
		r.t.Errorf("mails are %q", mails)
	}
}

// Integration: force send failure, confirm attempts increments and dead-letter triggers.
// Failures move to pending with backoff; repeated failures go to dead.
func TestForcedSendFailureIncrementsAttemptsAndGoesToDead(t *testing.T) {
	r := onEmbedded(t)
	r.post.behave("451 later", "")
	job := r.emit("m-1", "email", "ann@example.com", "matter-created")
	r.run()
	for n := int64(1); n < 5; n++ {
		got := r.until(job, fmt.Sprintf("failed %d times", n), func(d map[string]any) bool { return d["attempts"] == n && d["status"] == "pending" })
		wait := got["nextAttemptAt"].(time.Time).Sub(got["updatedAt"].(time.Time))
		if off := Backoff(int(n)) - wait; off.Abs() > 30*time.Second || got["lastError"] == nil {
			t.Errorf("after %d failures it waits %v, want %v: %v", n, wait, Backoff(int(n)), got)
		}
		r.ahead.Add(int64(Backoff(int(n))))
	}
	if got := r.untilStatus(job, "dead"); got["attempts"] != int64(5) || !strings.Contains(got["lastError"].(string), "451") {
		t.Errorf("job is %v", got)
	}
	if mails := r.post.messages(); len(mails) != 0 {
		t.Errorf("mails are %q", mails)
	}
}

// Processor sends each outbox record at most once (no duplicates on retries): what the
// end of the conversation leaves open is failed, and what is surely not sent is tried again.
func TestEachRecordIsSentAtMostOnce(t *testing.T) {
	for name, c := range map[string]struct {
		rcpt, end, channel, recipient, template string
		status, code                            string
		mails                                   int
	}{
		"refused":              {rcpt: "550 no such user", status: "dead", code: codeRefused},
		"refused at its end":   {end: "554 spam", status: "dead", code: codeRefused},
		"deferred":             {end: "451 later", status: "pending", code: codeFailed},
		"ended before it":      {rcpt: "drop", status: "pending", code: codeFailed},
		"ended without answer": {end: "drop", status: "failed", code: codeUnknown},
		"taken, no answer":     {end: "take and drop", status: "failed", code: codeUnknown, mails: 1},
		"no such channel":      {channel: "pigeon", status: "dead", code: codeChannel},
		"no such template":     {template: "x", status: "dead", code: codeTemplate},
		"template does not do": {template: "broken", status: "dead", code: codeTemplate},
		"nobody":               {recipient: "nobody", status: "dead", code: codeRecipient},
		"a bad address":        {recipient: "a b@@", status: "dead", code: codeRecipient},
	} {
		t.Run(name, func(t *testing.T) {
			r := onEmbedded(t)
			r.post.behave(c.rcpt, c.end)
			or := func(s, other string) string {
				if s == "" {
					return other
				}
				return s
			}
			job := r.emit("m-1", or(c.channel, "email"), or(c.recipient, "ann@example.com"), or(c.template, "matter-created"))
			stop := r.run()
			got := r.until(job, c.status, func(d map[string]any) bool { return d["status"] == c.status && d["lastErrorCode"] == c.code })
			stop()
			if got["attempts"] != int64(1) && c.status != "failed" {
				t.Errorf("job is %v", got)
			}
			if text, _ := got["lastError"].(string); strings.Contains(text, "ann@") {
				t.Errorf("the error tells the recipient's address: %s", text)
			}
			if mails := r.post.messages(); len(mails) != c.mails {
				t.Errorf("mails are %q, want %d", mails, c.mails)
			}
		})
	}
}

// A worker dies between any two writes: before it has sent, and after. What the channel
// can tell is sent once; of the rest nobody knows, and it is never sent twice.
func TestWorkerDies(t *testing.T) {
	for _, channel := range []string{"in_app", "email"} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s sent=%v", channel, after), func(t *testing.T) {
				r := onEmbedded(t)
				job := r.emit("m-1", channel, "ann@example.com", "matter-created")
				died := make(chan struct{})
				end := make(chan struct{})
				h := r.handler(r.client)
				dies := workqueue.HandlerFunc(func(ctx context.Context, c *workqueue.Claim) (workqueue.Outcome, error) {
					var out workqueue.Outcome
					var err error
					if after {
						out, err = h.Handle(ctx, c)
					}
					close(died)
					<-end // it is heard of no more until its lease is over
					return out, err
				})
				first := r.runWith(dies)
				<-died
				r.ahead.Add(int64(2 * Term))
				second := r.run()
				want := map[string]string{"in_app": "sent", "email": "failed"}[channel]
				got := r.untilStatus(job, want)
				second()
				close(end) // and then it comes back
				first()
				if again := r.get(job); again["status"] != want || again["updatedAt"] != got["updatedAt"] {
					t.Errorf("who had lost the job changed it from %v to %v", got, again)
				}
				mails := 0
				if channel == "email" && after {
					mails = 1
				}
				if n := len(r.post.messages()); n != mails {
					t.Errorf("%d mails, want %d", n, mails)
				}
				if channel == "in_app" {
					r.get(r.client.Collection(InAppMessages).Doc(job.ID))
				}
			})
		}
	}
}

// Answers that are lost on their way lead to no second mail.
func TestLostAnswersSendNothingTwice(t *testing.T) {
	r := onEmbedded(t)
	job := r.emit("m-1", "email", "ann@example.com", "matter-created")
	r.server.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: "outbox", Times: 20, Share: .5, Seed: 3, LoseResponse: true})
	r.run()
	r.untilStatus(job, "sent")
	if n := len(r.post.messages()); n != 1 {
		t.Errorf("%d mails, want 1", n)
	}
}

// Status visibility shows pending/processing/sent/failed/dead.
func TestStatusVisibility(t *testing.T) {
	r := onEmbedded(t)
	held := make(chan struct{})
	r.more = map[string]Channel{"slow": channelFunc(func(ctx context.Context, _ Message) ([]workqueue.Create, error) {
		select {
		case <-held:
		case <-ctx.Done():
		}
		return nil, nil
	})}
	pending := r.emit("m-0", "slow", "ann", "matter-created")
	if got := r.get(pending); got["status"] != "pending" {
		t.Errorf("job is %v", got)
	}
	r.run()
	if got := r.untilStatus(pending, "processing"); got["lockOwner"] == nil || got["lockedAt"] == nil {
		t.Errorf("job is %v", got)
	}
	close(held)
	r.untilStatus(pending, "sent")
	r.untilStatus(r.emit("m-1", "pigeon", "ann", "matter-created"), "dead")
	r.post.behave("", "drop")
	r.untilStatus(r.emit("m-2", "email", "ann@example.com", "matter-created"), "failed")
	// The recipe: outbox where status in (failed, dead), by jobType.
	docs, err := r.client.Collection("outbox").Where("status", "in", []string{"failed", "dead"}).Documents(t.Context()).GetAll()
	if err != nil || len(docs) != 2 {
		t.Errorf("%d failed and dead jobs, want 2; %v", len(docs), err)
	}
}

type channelFunc func(context.Context, Message) ([]workqueue.Create, error)

func (f channelFunc) Send(ctx context.Context, m Message) ([]workqueue.Create, error) {
	return f(ctx, m)
}
func (channelFunc) Tells() bool { return false }

func TestPubSub(t *testing.T) {
	r := onEmbedded(t)
	broker, err := localpubsub.Open(localpubsub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	address, err := broker.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := pubsub.NewClient(context.Background(), "p", local.ClientOptions(address)...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := broker.CreateTopics("p", []string{"jobs"}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.SubscriptionAdminClient.CreateSubscription(t.Context(), &pubsubpb.Subscription{Name: "projects/p/subscriptions/s", Topic: "projects/p/topics/jobs"}); err != nil {
		t.Fatal(err)
	}
	r.more = map[string]Channel{"pubsub": NewPubSub(client, "jobs"), "nowhere": NewPubSub(client, "no-topic")}
	stop := r.run()
	r.untilStatus(r.emit("m-1", "pubsub", "ann", "matter-created"), "sent")
	if got := r.until(r.emit("m-2", "nowhere", "ann", "matter-created"), "retried", func(d map[string]any) bool { return d["attempts"] == int64(1) }); got["status"] != "pending" {
		t.Errorf("job for a topic that is not there is %v", got)
	}
	broker.Faults().Add(localpubsub.Fault{Method: "Publish", LoseResponse: true, Code: codes.Unavailable})
	r.untilStatus(r.emit("m-3", "pubsub", "ann", "matter-created"), "failed")
	stop()
	var got atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = client.Subscriber("s").Receive(ctx, func(_ context.Context, m *pubsub.Message) {
		if !strings.Contains(string(m.Data), `"id":"notification_dispatch:org-1:`) {
			t.Errorf("message is %s", m.Data)
		}
		m.Ack()
		if got.Add(1) == 2 { // the one whose answer was lost is there, once
			cancel()
		}
	})
	if err != nil || got.Load() != 2 {
		t.Errorf("%d messages, %v", got.Load(), err)
	}
}
