package relay_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/poll"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/ier"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay"
	relayfirestore "outboxrelay/relay/firestore"
)

// cloud is a Firestore and a Pub/Sub to test against: the embedded ones, or
// Google's emulators.
type cloud struct {
	project   string
	firestore string // HOST:PORT
	pubsub    string
	embedded  *localfirestore.Server // nil on Google's
	broker    *localpubsub.Server    // nil on Google's
}

// newCloud starts the embedded cloud for one test, which from here on runs beside
// others: all that it uses is its own.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	return cloudAhead(t, 0)
}

// cloudAhead is newCloud with a Firestore whose clock is ahead of the relay's.
func cloudAhead(t *testing.T, by time.Duration) *cloud {
	t.Helper()
	t.Parallel()
	fs, address := firestoretest.Start(t, localfirestore.Options{Now: func() time.Time { return time.Now().Add(by) }})
	ps, err := localpubsub.Open(localpubsub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ps.Close() })
	c := &cloud{project: "p-" + uuid.NewString()[:8], firestore: address, embedded: fs, broker: ps}
	if c.pubsub, err = ps.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return c
}

// onGoogle returns Google's emulators, or skips the test where none run.
func onGoogle(t *testing.T) *cloud {
	t.Helper()
	fs, ps := os.Getenv("OUTBOX_RELAY_GOOGLE_FIRESTORE"), os.Getenv("OUTBOX_RELAY_GOOGLE_PUBSUB")
	if fs == "" || ps == "" {
		t.Skip("Google's emulators are not running: see make test-emulators")
	}
	return &cloud{project: "p-" + uuid.NewString()[:8], firestore: fs, pubsub: ps}
}

// soon has a lost connection dialled anew at once, and then often.
var soon = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: 3 * time.Second,
}

func (c *cloud) client(t *testing.T) *dlqfirestore.Client {
	t.Helper()
	opts := append(local.FirestoreOptions(c.firestore), option.WithGRPCDialOption(grpc.WithConnectParams(soon)))
	client, err := dlqfirestore.Open(context.Background(), c.project, firestore.DefaultDatabaseID, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// fixture is a relay on a cloud, with a producer and consumers beside it.
type fixture struct {
	t       *testing.T
	ctx     context.Context // of the test's calls, see unbounded
	cloud   *cloud
	catalog *contracts.Catalog
	db      *dlqfirestore.Client
	topics  *ierpubsub.Clients
	log     *zap.Logger
	tuning  relay.Tuning
	inbox   *inbox
	made    uint64   // records by record
	latest  *running // what run started last

	// What a test may set before run.
	publish    ierpubsub.Settings
	wrapStore  func(relay.Store) relay.Store
	wrapTarget func(name string, target ier.Target) ier.Target
	queue      *dlq.Queue // see withQueue
	siblings   []relay.Sibling
	join       func(*relay.Relay, *dlq.Queue)        // adds siblings that need the relay
	waits      atomic.Pointer[func(context.Context)] // see delay
	wantEnd    string                                // what the error contains with which the relay ends; "" for none
	patience   time.Duration                         // beyond usualPatience, for what takes long
}

// unhurried is what a publish and a stop may take, unless a test is about that:
// a machine that stands still for longer than in service they may has a message
// published twice, or a mark left unwritten, of which most tests want none.
const unhurried = 30 * time.Second

// unbounded is the test's context with a deadline that no call comes to. Where a
// caller sets none the client sets its own, of a minute, and on a slow machine that
// is too short for a commit of a million values.
func unbounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	t.Cleanup(cancel)
	return ctx
}

// setup makes topics and consumers. publish sees every call to Pub/Sub. The relay is started by run.
func setup(t *testing.T, c *cloud, publish ...grpc.UnaryClientInterceptor) *fixture {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	catalog, err = catalog.WithTopics(map[string]string{"CLAIMS_HANDLER": "ier-claims-handler"})
	if err != nil {
		t.Fatal(err)
	}
	for lane, policy := range catalog.Lanes {
		policy.SettleLinger = 5 * time.Millisecond // tests wait for marks
		catalog.Lanes[lane] = policy
	}
	f := &fixture{
		t: t, ctx: unbounded(t), cloud: c, catalog: catalog, db: c.client(t), log: zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)),
		tuning: relay.Tuning{
			CanaryInterval: time.Second, SilenceBound: 5 * time.Second, SweepInterval: 30 * time.Second,
			SweepAge: 2 * time.Second, ListenBackoff: 10 * time.Millisecond, ListenBackoffMax: 200 * time.Millisecond,
			StopBudget: unhurried,
		},
		publish: ierpubsub.Settings{Timeout: unhurried},
	}
	opts := append(local.ClientOptions(c.pubsub), option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(publish...)))
	if f.topics, err = ierpubsub.NewClients(f.ctx, c.project, opts...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.topics.Close() })
	if err := ierpubsub.EnsureTopics(f.ctx, f.topics.Background(), catalog.Topics()); err != nil {
		t.Fatal(err)
	}
	f.inbox = f.consume()
	return f
}

// withQueue joins the relay to a dead-letter queue, whose store wrap may wrap.
func (f *fixture) withQueue(wrap func(dlq.Store) dlq.Store) {
	f.t.Helper()
	var store dlq.Store = dlqfirestore.New(f.cloud.client(f.t))
	if wrap != nil {
		store = wrap(store)
	}
	var err error
	if f.queue, err = dlq.New(dlq.Config{Store: store, Catalog: f.catalog, Log: f.log}); err != nil {
		f.t.Fatal(err)
	}
}

// running is a relay that runs.
type running struct {
	f        *fixture
	relay    *relay.Relay
	router   *ier.Router
	registry *prometheus.Registry
	stop     func() // as SIGTERM does; waits for the end
}

// setting is what one relay is made of.
type setting struct {
	cloud    *cloud // as the relay reaches it
	watching *cloud // as its listeners do
	catalog  *contracts.Catalog
	topics   *ierpubsub.Clients
	queue    *dlq.Queue
	leases   *relay.Leases // nil: it is alone
	// wrapTarget is the fixture's, unless it is set.
	wrapTarget func(name string, target ier.Target) ier.Target
}

// run starts a relay that is alone. It is stopped with the test at the latest.
func (f *fixture) run() *running {
	f.t.Helper()
	return f.start(setting{cloud: f.cloud, watching: f.cloud, catalog: f.catalog, topics: f.topics, queue: f.queue, wrapTarget: f.wrapTarget})
}

// start starts a relay. It is stopped with the test at the latest.
func (f *fixture) start(s setting) *running {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	targets, err := ierpubsub.NewTargets(s.topics, s.catalog, f.publish)
	if err != nil {
		f.t.Fatal(err)
	}
	all := make(map[string]ier.Target)
	for name, target := range targets {
		all[name] = target
		if s.wrapTarget != nil {
			all[name] = s.wrapTarget(name, target)
		}
	}
	router, err := ier.New(ier.Config{Targets: all, Catalog: s.catalog, Log: f.log, Breaker: ier.BreakerConfig{OpenFor: 100 * time.Millisecond}})
	if err != nil {
		f.t.Fatal(err)
	}
	var store relay.Store = relayfirestore.New(s.watching.client(f.t), s.cloud.client(f.t))
	if f.wrapStore != nil {
		store = f.wrapStore(store)
	}
	registry := prometheus.NewRegistry()
	r, err := relay.New(relay.Config{
		Catalog: s.catalog, Store: store, Router: router, Log: f.log, Registerer: registry, Tuning: f.tuning,
		Queue: s.queue, Leases: s.leases, Siblings: f.siblings,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if f.join != nil {
		f.join(r, s.queue)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		switch err := <-done; {
		case err == nil && f.wantEnd != "", err != nil && f.wantEnd == "", err != nil && !strings.Contains(err.Error(), f.wantEnd):
			f.t.Errorf("relay ended with %v, want %q", err, f.wantEnd)
		}
		closing, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		targets.Close(closing)
	})
	f.t.Cleanup(stop)
	f.latest = &running{f: f, relay: r, router: router, registry: registry, stop: stop}
	return f.latest
}

// count counts the records of all outboxes that have a status.
func (f *fixture) count(status contracts.Status) int {
	f.t.Helper()
	n := 0
	for _, o := range f.catalog.Outboxes {
		docs, err := f.db.Collection(o.Name).Where("status", "==", string(status)).Select().Documents(f.ctx).GetAll()
		if err != nil {
			f.t.Fatal(err)
		}
		for _, d := range docs {
			if !strings.HasPrefix(d.Ref.ID, "!") {
				n++
			}
		}
	}
	return n
}

// total counts the records of all outboxes that have a status, on the server.
func (f *fixture) total(status contracts.Status) int {
	f.t.Helper()
	n := 0
	for _, o := range f.catalog.Outboxes {
		q := f.db.Collection(o.Name).Where("status", "==", string(status))
		res, err := q.NewAggregationQuery().WithCount("n").Get(f.ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		n += int(res["n"].(*firestorepb.Value).GetIntegerValue())
	}
	return n
}

// deadLetters reads the dead-letter queue, by idempotency key.
func (f *fixture) deadLetters() map[string]map[string]any {
	f.t.Helper()
	docs, err := f.db.Collection(contracts.CollectionDeadLetters).Documents(f.ctx).GetAll()
	if err != nil {
		f.t.Fatal(err)
	}
	out := make(map[string]map[string]any)
	for _, d := range docs {
		key, _ := d.Data()["idempotencyKey"].(string)
		out[key] = d.Data()
	}
	return out
}

// without leaves out the records that were dead-lettered.
func (f *fixture) without(records []*contracts.Record, dead map[string]map[string]any) []*contracts.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r *contracts.Record) bool { return dead[r.IdempotencyKey] != nil })
}

// fields reads a document; nil when there is none.
func (f *fixture) fields(path string) map[string]any {
	snap, err := f.db.Doc(path).Get(f.ctx)
	if err != nil {
		return nil
	}
	return snap.Data()
}

// usualPatience is many times what a relay with its own intervals needs to find a
// listener that went silent, as those of Google's emulator do on a busy machine; and
// the tests share that machine with each other.
const usualPatience = 10 * time.Minute

// eventually waits until cond holds.
func (f *fixture) eventually(what string, cond func() bool) {
	f.t.Helper()
	if poll.True(usualPatience+f.patience, 20*time.Millisecond, cond) {
		return
	}
	if f.latest != nil {
		health, _ := json.Marshal(f.latest.relay.Health())
		f.t.Logf("health: %s", health)
	}
	f.t.Fatalf("in vain waited until %s", what)
}
