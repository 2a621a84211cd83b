package relay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/ier"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay"
	"outboxrelay/relay/lease/leasetest"
)

// member is one relay of several. It shares the outboxes with the others, and
// reaches the cloud through proxies of its own.
type member struct {
	*running
	name      string
	firestore *proxy // but for its listeners
	watching  *proxy // its listeners
	pubsub    *proxy
}

// member starts a relay. change may be nil.
func (f *fixture) member(name string, term time.Duration, change func(*setting)) *member {
	f.t.Helper()
	m := &member{
		name: name, firestore: startProxy(f.t, f.cloud.firestore), watching: startProxy(f.t, f.cloud.firestore), pubsub: startProxy(f.t, f.cloud.pubsub),
	}
	topics, err := ierpubsub.NewClients(f.ctx, f.cloud.project, local.ClientOptions(m.pubsub.addr)...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { topics.Close() })
	near := &cloud{project: f.cloud.project, firestore: m.firestore.addr}
	s := setting{
		cloud: near, watching: &cloud{project: f.cloud.project, firestore: m.watching.addr},
		catalog: f.catalog, topics: topics, wrapTarget: f.wrapTarget,
		leases: &relay.Leases{Store: dlqfirestore.New(near.client(f.t)), Instance: name, Term: term},
	}
	if f.queue != nil { // each has its own view of the one queue
		if s.queue, err = dlq.New(dlq.Config{Store: dlqfirestore.New(near.client(f.t)), Catalog: f.catalog, Log: f.log}); err != nil {
			f.t.Fatal(err)
		}
	}
	if change != nil {
		change(&s)
	}
	m.running = f.start(s)
	return m
}

// cutFirestore ends all ways to Firestore, and mendFirestore opens them again.
func (m *member) cutFirestore()  { m.firestore.cut(); m.watching.cut() }
func (m *member) mendFirestore() { m.firestore.mend(); m.watching.mend() }

// events is a count of what happened to a member's leases.
func (m *member) events(event string) int {
	return int(m.metric("relay_lease_events_total", "event", event))
}

// leases reads the leases of all shares, that of the queue apart.
func (f *fixture) leases() leasetest.Leases {
	f.t.Helper()
	leases, _, err := leasetest.Read(f.ctx, f.db.Client)
	if err != nil {
		f.t.Fatal(err)
	}
	delete(leases, contracts.ShareQueue)
	return leases
}

// spread waits until the shares are owned by so many each, "" being nobody.
func (f *fixture) spread(want map[string]int) leasetest.Leases {
	f.t.Helper()
	var leases leasetest.Leases
	f.eventually(fmt.Sprintf("the shares are spread as %v", want), func() bool {
		leases = f.leases()
		return cmp.Equal(want, leases.Spread())
	})
	return leases
}

// untaken is for how long at most a lease had not been renewed when it was taken. When that
// was, the server tells cut to the millisecond.
func untaken(before, taken leasetest.Lease) time.Duration {
	return taken.Since.Add(time.Millisecond).Sub(before.Updated)
}

// flow is a steady stream of records into all outboxes.
type flow struct {
	f       *fixture
	cancel  context.CancelFunc
	flowing sync.WaitGroup

	mu      sync.Mutex
	records []*contracts.Record
}

// flow appends a record to every outbox of the catalog each interval, until it
// is ended.
func (f *fixture) flow(catalog *contracts.Catalog, every time.Duration) *flow {
	ctx, cancel := context.WithCancel(f.ctx)
	fl := &flow{f: f, cancel: cancel}
	for _, o := range catalog.Outboxes {
		fl.flowing.Go(func() { fl.into(ctx, catalog, o, every) })
	}
	f.t.Cleanup(func() { fl.end() })
	return fl
}

func (fl *flow) into(ctx context.Context, catalog *contracts.Catalog, o *contracts.Outbox, every time.Duration) {
	random := rand.New(rand.NewPCG(1, 1))
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
			// Four aggregates in turn, each with ascending versions.
			r := catalog.Sample(random, o, fmt.Sprintf("%s-flow-%d", o.Name, n%4), int64(n/4)+1, time.Now())
			if !fl.put(ctx, r) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// put appends a record, and tries until it is in. It reports false when ctx
// ended before.
func (fl *flow) put(ctx context.Context, r *contracts.Record) bool {
	fields := r.ProducerFields()
	fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
	for {
		// An append that was begun comes to its end.
		_, err := fl.f.db.Collection(r.Outbox).Doc(r.ID).Create(context.WithoutCancel(ctx), fields)
		if err == nil || status.Code(err) == codes.AlreadyExists {
			fl.mu.Lock()
			fl.records = append(fl.records, r)
			fl.mu.Unlock()
			return true
		}
		if ctx.Err() != nil {
			return false
		}
	}
}

// end ends the flow and returns all that it appended.
func (fl *flow) end() []*contracts.Record {
	fl.cancel()
	fl.flowing.Wait()
	return fl.records
}

// on waits until so many more messages have arrived.
func (fl *flow) on(messages int) {
	fl.f.t.Helper()
	from := len(fl.f.inbox.all())
	fl.f.eventually("records flow on", func() bool { return len(fl.f.inbox.all()) >= from+messages })
}

// repeated are the idempotency keys of what a target got more than once.
func (f *fixture) repeated() map[string]bool {
	seen, out := make(map[string]bool), make(map[string]bool)
	for _, m := range f.inbox.all() {
		id := m.attributes["target"] + " " + m.attributes["idempotencyKey"]
		if seen[id] {
			out[m.attributes["idempotencyKey"]] = true
		}
		seen[id] = true
	}
	return out
}

// wantNoAttempts checks that what happened cost the records nothing: no attempt
// was counted, and none is a dead letter.
func (f *fixture) wantNoAttempts(records []*contracts.Record) {
	f.t.Helper()
	for i, fields := range f.documents(records) {
		if attempts, ok := fields["attempts"]; ok && attempts != int64(0) {
			f.t.Errorf("record %s has %v attempts, want none", records[i].ID, attempts)
		}
	}
	for id, fields := range f.deadLetters() {
		f.t.Errorf("got dead letter %s, want none: %v", id, fields)
	}
}

// gate holds deliveries of chosen aggregates at a member until it is opened.
type gate struct {
	prefix string // of the aggregates
	open   chan struct{}
	once   sync.Once

	mu    sync.Mutex
	begun []string // idempotency keys, each time that a delivery of one began
}

func newGate(prefix string) *gate { return &gate{prefix: prefix, open: make(chan struct{})} }

// holds has a member's deliveries pass the gate.
func (g *gate) holds(s *setting) {
	s.wrapTarget = func(_ string, target ier.Target) ier.Target { return gated{target, g} }
}

// gated is a target behind a gate.
type gated struct {
	ier.Target
	gate *gate
}

func (g gated) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	if strings.HasPrefix(parcels[0].Record.AggregateID, g.gate.prefix) { // a call is of one aggregate
		g.gate.begin(parcels)
		select {
		case <-g.gate.open:
		case <-ctx.Done():
		}
	}
	return g.Target.Deliver(ctx, parcels)
}

func (g *gate) begin(parcels []ier.Parcel) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range parcels {
		g.begun = append(g.begun, p.Record.IdempotencyKey)
	}
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

// passed lists the deliveries that began.
func (g *gate) passed() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.begun)
}

// refuses fails every delivery of an aggregate.
func refuses(aggregate string) func(context.Context, string, *contracts.Record) error {
	return func(_ context.Context, _ string, r *contracts.Record) error {
		if r.AggregateID == aggregate {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	}
}
