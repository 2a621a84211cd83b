package cost_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/requirements"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/dlq/sibling"
	"outboxrelay/ier"
	"outboxrelay/relay"
	relayfirestore "outboxrelay/relay/firestore"
)

// latency is what each call to the embedded Firestore takes. Without any, things
// that follow one another would happen at one time.
const latency = 4 * time.Millisecond

// world is an embedded Firestore with real relays on it, in a bubble of synctest:
// hours of their time pass in seconds, and the same run bills the same. It has no
// sockets, since one that is read from would keep time from passing.
type world struct {
	t       *testing.T
	catalog *contracts.Catalog
	server  *localfirestore.Server
	lis     *bufconn.Listener
	db      *dlqfirestore.Client // a producer's
	random  *rand.Rand
	targets map[string]ier.Target
	tuning  relay.Tuning // of the relays that are started
	hold    *sequences   // what commits wait for; nil: for nothing
	streams int          // listeners of a client at once; 0: as many as there are

	carried   carried // by the connections of all clients
	clients   []*dlqfirestore.Client
	serving   sync.WaitGroup
	relays    sync.WaitGroup
	producers sync.WaitGroup
	cancel    []context.CancelFunc
	drawing   sync.Mutex // of a record
	version   int64
}

// newWorld opens a Firestore without any relay.
func newWorld(t *testing.T, catalog *contracts.Catalog) *world {
	t.Helper()
	indexes := requirements.IndexesOf(catalog)
	server, err := localfirestore.Open(localfirestore.Options{Indexes: &indexes})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, catalog: catalog, server: server, lis: bufconn.Listen(1 << 20), random: rand.New(rand.NewPCG(1, 2)),
		targets: make(map[string]ier.Target),
	}
	w.serving.Go(func() {
		if err := server.Serve(w.lis); err != nil {
			t.Error(err)
		}
	})
	for name := range catalog.Targets {
		w.targets[name] = target{}
	}
	w.db = w.client()
	server.Faults().Add(localfirestore.Fault{Delay: latency})
	return w
}

func (w *world) client() *dlqfirestore.Client {
	w.t.Helper()
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := w.lis.DialContext(ctx)
		return meteredConn{conn, &w.carried}, err
	})
	hold := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if err := w.hold.wait(ctx, req); err != nil {
			return err
		}
		return invoke(ctx, method, req, reply, conn, opts...)
	})
	client, err := dlqfirestore.Open(w.t.Context(), "my-project", firestore.DefaultDatabaseID, append(local.FirestoreOptions("embedded"),
		option.WithGRPCDialOption(dial), option.WithGRPCDialOption(hold), option.WithGRPCDialOption(atMost(w.streams)))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.clients = append(w.clients, client)
	return client
}

// start starts an instance, as `outbox-relay serve` joins it.
func (w *world) start(instance string) {
	w.t.Helper()
	queue, err := dlq.New(dlq.Config{Store: dlqfirestore.New(w.client()), Catalog: w.catalog})
	if err != nil {
		w.t.Fatal(err)
	}
	router, err := ier.New(ier.Config{Targets: w.targets, Catalog: w.catalog})
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := relay.New(relay.Config{
		Catalog: w.catalog, Store: relayfirestore.New(w.client(), w.client()), Router: router, Queue: queue,
		Leases: &relay.Leases{Store: dlqfirestore.New(w.client()), Instance: instance},
		Tuning: w.tuning, Random: func() float64 { return 0.9 }, // no retry so soon that its mark is not written
	})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := dlqtest.Config{Config: sibling.Config{Leads: r.Leads}}
	replayer, err := dlqtest.Replayer(queue, r, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	review, err := dlqtest.Review(queue, r, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	freezer, err := dlqtest.Freezer(queue, r, alerts{}, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Join(
		relay.Sibling{Name: "replayer", Run: replayer.Run},
		relay.Sibling{Name: "review", Run: review.Run},
		relay.Sibling{Name: "freezer", Run: freezer.Run},
	)
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = append(w.cancel, cancel)
	w.relays.Go(func() {
		if err := r.Run(ctx); err != nil {
			w.t.Errorf("instance %s: %v", instance, err)
		}
	})
}

// close ends everything, so that nothing of the bubble is left.
func (w *world) close() {
	for _, cancel := range w.cancel {
		cancel()
	}
	w.relays.Wait()
	for _, c := range w.clients {
		if err := c.Close(); err != nil {
			w.t.Error(err)
		}
	}
	if err := w.server.Close(); err != nil {
		w.t.Error(err)
	}
	w.serving.Wait()
}

// target acknowledges every record, unless fails says how it fails.
type target struct {
	fails func(ier.Parcel) error
}

// Deliver implements ier.Target.
func (g target) Deliver(_ context.Context, parcels []ier.Parcel) []error {
	errs := make([]error, len(parcels))
	for i, p := range parcels {
		if g.fails == nil {
			continue
		}
		if i > 0 && errs[i-1] != nil {
			errs[i] = ier.ErrBehind
			continue
		}
		errs[i] = g.fails(p)
	}
	return errs
}

// alerts acknowledges every alert.
type alerts struct{}

// Publish implements freezer.Alerts.
func (alerts) Publish(context.Context, []byte, map[string]string) error { return nil }

// record is a sound record of an aggregate of its own, of a type that the route
// function takes; nil: of any.
func (w *world) record(outbox *contracts.Outbox, takes func(*contracts.EventRoute) bool) *contracts.Record {
	w.drawing.Lock()
	defer w.drawing.Unlock()
	for {
		w.version++
		rec := w.catalog.Sample(w.random, outbox, fmt.Sprintf("aggregate-%d", w.version), 1, time.Now())
		if takes == nil || takes(outbox.Route(rec.EventType)) {
			return rec
		}
	}
}

// append appends records in one commit.
func (w *world) append(records ...*contracts.Record) {
	w.t.Helper()
	if err := w.commit(records); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) commit(records []*contracts.Record) error {
	batch := w.db.Batch() //nolint:staticcheck // one commit, as producers make it
	for _, rec := range records {
		fields := rec.ProducerFields()
		fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
		doc := w.db.Collection(rec.Outbox).Doc(rec.ID)
		batch.Create(doc, fields)
		if w.hold != nil {
			w.hold.know(doc.Path, rec)
		}
	}
	_, err := batch.Commit(w.t.Context())
	return err
}

// bill is what was billed while f ran, by kind of collection.
func (w *world) bill(f func()) bill {
	before := w.server.Billing()
	f()
	after := w.server.Billing()
	out := make(bill)
	for name, n := range after.Collections {
		b := before.Collections[name]
		out[w.kind(name)] = out[w.kind(name)].Plus(operations(n.Reads-b.Reads, n.Writes-b.Writes, n.Deletes-b.Deletes))
	}
	return out
}
