package jobs

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/wneessen/go-mail"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"google.golang.org/api/option"

	"outboxrelay/contracts/outbox"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/relay/workqueue"
)

const patience = 5 * time.Minute

// rig is a Firestore, a post office, and a producer.
type rig struct {
	t      *testing.T
	server *localfirestore.Server // nil on Google's emulator
	client *firestore.Client
	post   *postOffice
	ahead  atomic.Int64 // of the server's clock, in nanoseconds
	more   map[string]Channel
	log    *zap.Logger // nil: to the test's
	bare   bool        // there are no templates
}

// onEmbedded is an embedded Firestore, which has the indexes that a deployment has and no
// others: those of firestore.indexes.json.
func onEmbedded(t *testing.T, opts ...option.ClientOption) *rig {
	t.Helper()
	t.Parallel()
	r := &rig{t: t, post: newPostOffice(t)}
	var address string
	r.server, address = firestoretest.Start(t, localfirestore.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) },
	})
	r.client = firestoretest.Client(t, address, opts...).Client
	return r
}

func onGoogle(t *testing.T) *rig {
	t.Helper()
	return &rig{t: t, post: newPostOffice(t), client: firestoretest.Client(t, firestoretest.OnGoogle(t)).Client}
}

const texts = `
matter-created:
  title: New matter {{.event.payload.name}}
  body: "{{.event.actor}} has created it, {{.recipientId}}."
cut:
  title: "{{slice .event.payload.name 0 2}}"
  body: "{{slice .event.payload.name 0 2}}"
endless:
  title: x
  body: '{{printf "%300000d" 1}}'
broken:
  title: New matter {{.event.payload.nobody}}
  body: x
`

func (r *rig) handler(client *firestore.Client) *Handler {
	r.t.Helper()
	templates, err := ParseTemplates([]byte(texts))
	if err != nil {
		r.t.Fatal(err)
	}
	if r.bare {
		templates = Templates{}
	}
	email, err := NewEmail("127.0.0.1", "post@example.com", UserAddress(client), mail.WithPort(r.post.port), mail.WithTLSPolicy(mail.NoTLS))
	if err != nil {
		r.t.Fatal(err)
	}
	channels := map[string]Channel{"in_app": NewInApp(client), "email": email}
	maps.Copy(channels, r.more)
	return NewHandler(client, templates, channels)
}

// run starts an instance, which ends with the test at the latest.
func (r *rig) run() (stop func()) {
	r.t.Helper()
	return r.runWith(r.handler(r.client))
}

func (r *rig) runWith(h workqueue.Handler) (stop func()) {
	r.t.Helper()
	q, err := workqueue.New(workqueue.Config{
		Client: r.client, Vocabulary: Vocabulary(), Handler: h, Log: cmp.Or(r.log, zaptest.NewLogger(r.t, zaptest.Level(zap.ErrorLevel))),
		Tuning: workqueue.Tuning{Every: 100 * time.Millisecond, Backoff: 10 * time.Millisecond, BackoffMax: 200 * time.Millisecond, StopBudget: patience},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run = %v", err)
		}
	})
	r.t.Cleanup(stop)
	return stop
}

// emit emits that a matter was created, with a job over a channel, and returns the
// job's document.
func (r *rig) emit(matter, channel, recipient, template string) *firestore.DocumentRef {
	r.t.Helper()
	var out *outbox.Emitted
	err := r.client.RunTransaction(r.t.Context(), func(ctx context.Context, tx *firestore.Transaction) (err error) {
		out, err = outbox.Emit(ctx, r.client, tx, outbox.DomainEvent{
			Type: "matter.created", OrgID: "org-1", EntityType: "matter", EntityID: matter, Actor: "bob", Payload: map[string]any{"name": "Smith"},
		}, outbox.Job{RecipientID: recipient, Channel: channel, TemplateID: template})
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.client.Collection(outbox.Jobs).Doc(out.Jobs[0].Key)
}

func (r *rig) get(ref *firestore.DocumentRef) map[string]any {
	r.t.Helper()
	snap, err := ref.Get(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return snap.Data()
}

func (r *rig) until(ref *firestore.DocumentRef, what string, ok func(map[string]any) bool) map[string]any {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		d := r.get(ref)
		if ok(d) {
			return d
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not %s in time: %v", ref.ID, what, d)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (r *rig) untilStatus(ref *firestore.DocumentRef, want string) map[string]any {
	r.t.Helper()
	return r.until(ref, want, func(d map[string]any) bool { return d["status"] == want })
}
