package cost_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts/outbox"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

// tenant is the condominium of the tests.
var tenant = notifications.Tenant{ClientID: "c", CondominiumID: "d"}

// post sends nothing, after it has looked up who the recipient is, as channel email does.
type post struct {
	address func(context.Context, jobs.Message) (string, error)
}

// Tells implements jobs.Channel.
func (post) Tells() bool { return false }

// Send implements jobs.Channel.
func (p post) Send(ctx context.Context, m jobs.Message) ([]workqueue.Create, error) {
	_, err := p.address(ctx, m)
	return nil, err
}

// taker takes every message.
type taker struct{}

// Tells implements jobs.Channel.
func (taker) Tells() bool { return false }

// Send implements jobs.Channel.
func (taker) Send(context.Context, jobs.Message) ([]workqueue.Create, error) { return nil, nil }

// serveQueues starts an instance that serves both work queues.
func (w *world) serveQueues(instance string) {
	w.t.Helper()
	db := w.client().Client
	templates, err := jobs.ParseTemplates([]byte("t: {title: New, body: new}"))
	if err != nil {
		w.t.Fatal(err)
	}
	channels := map[string]jobs.Channel{cost.ChannelInApp: jobs.NewInApp(db), cost.ChannelEmail: post{jobs.UserAddress(db)}, cost.ChannelPubSub: taker{}}
	events, err := notifications.New(db, notifications.Default(), nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, cfg := range []workqueue.Config{{Client: db, Vocabulary: jobs.Vocabulary(), Handler: jobs.NewHandler(db, templates, channels)}, events.Config()} {
		cfg.WorkerPrefix = instance
		q, err := workqueue.New(cfg)
		if err != nil {
			w.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		w.cancel = append(w.cancel, cancel)
		w.relays.Go(func() {
			if err := q.Run(ctx); err != nil {
				w.t.Errorf("instance %s: %v", instance, err)
			}
		})
	}
}

// emit creates a domain event with so many jobs over a channel.
func (w *world) emit(n, each int, channel string) {
	w.t.Helper()
	var list []outbox.Job
	for i := range each {
		list = append(list, outbox.Job{RecipientID: fmt.Sprintf("user-%d", i), Channel: channel, TemplateID: "t"})
	}
	err := w.db.RunTransaction(w.t.Context(), func(ctx context.Context, tx *firestore.Transaction) error {
		_, err := outbox.Emit(ctx, w.db.Client, tx, outbox.DomainEvent{
			Type: "matter.created", OrgID: "org", EntityType: "matter", EntityID: fmt.Sprintf("m-%d", n), Actor: "ann", Payload: map[string]any{"n": n},
		}, list...)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// notify creates an event for the administrators, as a front end does.
func (w *world) notify(n int) {
	w.t.Helper()
	_, err := w.db.Doc(fmt.Sprintf("%s/%s/event-%d", tenant.Path(), notifications.CollectionEvents, n)).Create(w.t.Context(), map[string]any{
		"status": notifications.StatusPending, "channels": []any{"in_app"}, "dedupeKey": fmt.Sprintf("key-%d", n), "createdBy": "ann",
		"clientId": tenant.ClientID, "condominiumId": tenant.CondominiumID, "createdAt": firestore.ServerTimestamp,
		"audience": map[string]any{"scope": string(notifications.Admins)}, "title": "New", "body": "new",
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// people makes so many administrators, and users with an address.
func (w *world) people(n int) {
	w.t.Helper()
	for i := range n {
		for _, path := range []string{tenant.Path() + "/" + notifications.CollectionUsers, "users"} {
			_, err := w.db.Doc(fmt.Sprintf("%s/user-%d", path, i)).Set(w.t.Context(), map[string]any{"role": "admin", "email": "u@example.com"})
			if err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// TestWorkQueuesCostWhatIsBilled: four idle hours, and minutes with a document a second, of
// each channel and of audiences of one commit and of two.
func TestWorkQueuesCostWhatIsBilled(t *testing.T) {
	thorough.Long(t)
	ofJobs := func(channel string, each int) func(*world, int) (cost.Operations, func(int)) {
		return func(w *world, instances int) (cost.Operations, func(int)) {
			w.people(each)
			want := cost.Emit(float64(each)).Plus(cost.Job(channel, instances).Times(float64(each)))
			return want, func(i int) { w.emit(i, each, channel) }
		}
	}
	ofEvents := func(recipients int) func(*world, int) (cost.Operations, func(int)) {
		return func(w *world, instances int) (cost.Operations, func(int)) {
			w.people(recipients)
			want := cost.Create().Plus(cost.Notification(float64(recipients), instances))
			want.Reads-- // nobody asks the security rules here
			want.Expired = 0
			return want, w.notify
		}
	}
	for _, c := range []struct {
		name      string
		instances int
		documents int
		load      func(*world, int) (cost.Operations, func(int)) // nil: nothing
	}{
		{"idle, one instance", 1, 0, nil},
		{"idle, three instances", 3, 0, nil},
		{"jobs in_app", 1, 120, ofJobs(cost.ChannelInApp, 1)},
		{"three jobs of an event, email", 1, 120, ofJobs(cost.ChannelEmail, 3)},
		{"jobs pubsub, two instances", 2, 120, ofJobs(cost.ChannelPubSub, 1)},
		{"jobs in_app, three instances", 3, 120, ofJobs(cost.ChannelInApp, 1)},
		{"notifications for two", 1, 120, ofEvents(2)},
		{"notifications for 450", 1, 12, ofEvents(450)},
		{"notifications for two, two instances", 2, 120, ofEvents(2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			catalog := someOutboxes(t, nil)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, catalog)
				defer w.close()
				var each cost.Operations
				act := func(int) {}
				if c.load != nil {
					each, act = c.load(w, c.instances)
				}
				for i := range c.instances {
					w.serveQueues(fmt.Sprintf("instance-%d", i))
				}
				time.Sleep(settled)
				d := 4 * time.Hour // of 1, reads at its ends were 3 of 124 more or fewer
				if c.load != nil {
					d = time.Duration(c.documents)*time.Second + time.Minute
				}
				got := w.bill(func() {
					began := time.Now()
					for i := range c.documents {
						time.Sleep(time.Until(began.Add(time.Duration(i)*time.Second + time.Duration(i*37%100)*time.Millisecond)))
						act(i)
					}
					time.Sleep(time.Until(began.Add(d)))
				})
				f := cost.Fleet{Catalog: catalog, Instances: c.instances}
				want := f.WorkQueues(2).Times(d.Seconds())
				want = want.Plus(each.Times(float64(c.documents)))
				judge(t, c.name, bill{ofQueue: want}, got)
			})
		})
	}
}

// TestEstimateCountsWorkQueues: for each job, and for each event of notifications.
func TestEstimateCountsWorkQueues(t *testing.T) {
	queues := func(change func(*cost.Queues)) *cost.Estimate {
		return estimate(t, func(w *cost.Workload) {
			w.Rate, w.Instances = 1, 2
			if change != nil {
				change(&w.Queues)
			}
		})
	}
	for _, c := range []struct {
		name    string
		change  func(*cost.Queues)
		article cost.Article
		what    string
		want    float64 // for each of the hundred a second
	}{
		{"nothing without a rate", nil, cost.FirestoreReads, "jobs", 0},
		{"an event and its job", func(q *cost.Queues) { q.Jobs = 100 }, cost.FirestoreWrites, "jobs: the producers'", 2},
		{"an event and its four jobs", func(q *cost.Queues) { q.Jobs, q.JobsOfEvent = 100, 4 }, cost.FirestoreWrites, "jobs: the producers'", 1.25},
		{"in_app", func(q *cost.Queues) { q.Jobs = 100 }, cost.FirestoreReads, "jobs: found", 8.4},
		{"email", func(q *cost.Queues) { q.Jobs, q.Channel = 100, cost.ChannelEmail }, cost.FirestoreWrites, "jobs: found", 2},
		{"pubsub", func(q *cost.Queues) { q.Jobs, q.Channel = 100, cost.ChannelPubSub }, cost.FirestoreReads, "jobs: found", 7.4},
		{"notifications of one commit", func(q *cost.Queues) { q.Notifications, q.Recipients = 100, 400 }, cost.FirestoreWrites, "notifications: found", 405},
		{"notifications of three commits", func(q *cost.Queues) { q.Notifications, q.Recipients = 100, 801 }, cost.FirestoreWrites, "notifications: found", 812},
		{"markers", func(q *cost.Queues) { q.Notifications = 100 }, cost.FirestoreExpired, "notifications", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := quantity(queues(c.change), c.article, c.what) / monthOf100
			if math.Abs(got-c.want) > 1e-9 {
				t.Errorf("got %v for each, want %v", got, c.want)
			}
		})
	}
	without, with := queues(nil), queues(func(q *cost.Queues) { q.Jobs, q.Notifications = 1, 1 })
	if len(without.Queues) != 0 || len(with.Queues) != 2 || with.Total <= without.Total || with.Idle <= without.Idle {
		t.Errorf("the work queues cost %+v, and the total rises from %v to %v", with.Queues, without.Total, with.Total)
	}
	if math.Abs(without.PerMillion-with.PerMillion) > 1e-9 {
		t.Errorf("a million records cost %v, and %v beside work queues", without.PerMillion, with.PerMillion)
	}
	if got := quantity(with, cost.FirestoreReads, "idle: rounds") / quantity(queues(func(q *cost.Queues) { q.Jobs = 1 }), cost.FirestoreReads, "idle: rounds"); got != 2 {
		t.Errorf("two queues are looked through %v times as often as one", got)
	}
	if busy := queues(func(q *cost.Queues) { q.Jobs = 300 }); !strings.Contains(strings.Join(busy.Warnings, " "), "jobs: 300 documents a second write 600 times") {
		t.Errorf("warnings %q", busy.Warnings)
	}
}

// A workload that no queue could have is refused.
func TestWorkQueuesThatCannotBe(t *testing.T) {
	w := cost.Default(catalog(t, nil), prices(t), 1)
	w.Queues = cost.Queues{Jobs: -1, JobsOfEvent: 0.5, Channel: "pigeon", Notifications: 1e9, Recipients: 20_001}
	err := w.Validate()
	for _, want := range []string{"jobs are -1", "jobs of an event are 0.5", `channel is "pigeon"`, "notifications are 1e+09", "recipients are 20001"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
