package lease

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// world is a store, and instances that share its work. It lives in a synctest
// bubble, unless its store is a real one.
type world struct {
	t      *testing.T
	store  Store
	server *fakeServer // the store in a bubble; else nil
	term   time.Duration
	shares []string
	nodes  []*node
	works  sync.WaitGroup

	mu     sync.Mutex
	events []happening
}

// happening is a Work that began or ended.
type happening struct {
	node  string
	share string
	what  string // "begins", "told", "ends"
	cause error  // of told
	at    time.Time
}

// node is one instance.
type node struct {
	w        *world
	name     string
	keeper   *Keeper
	client   *faulty
	registry *prometheus.Registry
	cancel   context.CancelFunc
	done     chan struct{}

	mu     sync.Mutex
	leases map[string]*Lease // of Work that goes on
	drain  time.Duration     // how long Work goes on after it was told to end
	last   func(share string) []dlq.Write
	work   func(ctx context.Context, l *Lease) []dlq.Write // in place of the usual
}

// newBubble makes a world on a server in memory.
func newBubble(t *testing.T, shares ...string) *world {
	t.Helper()
	server := newFakeServer()
	w := newWorld(t, server, DefaultTerm, shares...)
	w.server = server
	return w
}

func newWorld(t *testing.T, store Store, term time.Duration, shares ...string) *world {
	t.Helper()
	w := &world{t: t, store: store, term: term, shares: shares}
	t.Cleanup(func() {
		for _, n := range w.nodes {
			n.client.with(func(f *faults) { *f = faults{} })
			n.stop()
		}
		w.works.Wait()
	})
	return w
}

// start starts an instance. Its faults and its Work may be changed by change.
func (w *world) start(name string, change ...func(*node, *Config)) *node {
	w.t.Helper()
	n := &node{
		w: w, name: name, client: &faulty{store: w.store, latency: 5 * time.Millisecond}, done: make(chan struct{}),
		leases: make(map[string]*Lease), registry: prometheus.NewRegistry(),
	}
	config := Config{Store: n.client, Instance: name, Shares: w.shares, Term: w.term, Work: n.doWork, Registerer: n.registry}
	for _, f := range change {
		f(n, &config)
	}
	var err error
	if n.keeper, err = New(config); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go func() {
		defer close(n.done)
		if err := n.keeper.Run(ctx); err != nil {
			w.t.Errorf("keeper of %s ended: %v", name, err)
		}
	}()
	w.nodes = append(w.nodes, n)
	return n
}

// stop stops the instance as SIGTERM does, and waits for its end.
func (n *node) stop() {
	n.cancel()
	<-n.done
}

// crash cuts the instance off for ever: nothing that it does is seen again.
func (n *node) crash() {
	n.client.with(func(f *faults) { f.cut = true })
	n.cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.leases)
}

// linger sets how long Work goes on after it was told to end.
func (n *node) linger(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drain = d
}

func (n *node) doWork(ctx context.Context, l *Lease) []dlq.Write {
	n.w.works.Add(1)
	defer n.w.works.Done()
	n.w.note(n.name, l.Share(), "begins", nil)
	n.mu.Lock()
	n.leases[l.Share()] = l
	work := n.work
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.leases, l.Share())
		n.mu.Unlock()
		n.w.note(n.name, l.Share(), "ends", nil)
	}()
	if work != nil {
		return work(ctx, l)
	}
	<-ctx.Done()
	n.w.note(n.name, l.Share(), "told", context.Cause(ctx))
	n.mu.Lock()
	drain, last := n.drain, n.last
	n.mu.Unlock()
	time.Sleep(drain)
	if last != nil {
		return last(l.Share())
	}
	return nil
}

func (w *world) note(node, share, what string, cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, happening{node, share, what, cause, time.Now()})
}

// forget has nothing happened so far.
func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = nil
}

// happened returns what happened so far: "" stands for any.
func (w *world) happened(node, share, what string) []happening {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []happening
	for _, h := range w.events {
		if (node == "" || h.node == node) && (share == "" || h.share == share) && (what == "" || h.what == what) {
			out = append(out, h)
		}
	}
	return out
}

// last is the last that happened of what matches.
func (w *world) last(node, share, what string) happening {
	w.t.Helper()
	all := w.happened(node, share, what)
	if len(all) == 0 {
		w.t.Fatalf("%s never %s %s", node, what, share)
	}
	return all[len(all)-1]
}

// count is the instance's count of an event.
func (n *node) count(e event) int {
	n.w.t.Helper()
	families, err := n.registry.Gather()
	if err != nil {
		n.w.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "relay_lease_events_total" && m.GetLabel()[0].GetValue() == string(e) {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	n.w.t.Fatalf("there is no count of %s", e)
	return 0
}

// all reads a collection.
func (w *world) all(collection string) []dlq.Doc {
	w.t.Helper()
	docs, err := w.store.Query(context.Background(), dlq.Query{Collection: collection})
	if err != nil {
		w.t.Fatal(err)
	}
	return docs
}

// read reads a document of the leases.
func (w *world) read(id string) dlq.Doc {
	w.t.Helper()
	docs, err := w.store.Get(context.Background(), contracts.CollectionLeases, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return docs[0]
}

// doc is the lease document of a share.
func (w *world) doc(share string) leaseDoc {
	return decodeLease(w.read(share), w.term)
}

// lease is that of the node's Work for a share; nil when there is none.
func (n *node) lease(share string) *Lease {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leases[share]
}

// works reports whether the Work of every share goes on here. It begins a moment
// after the share is owned.
func (n *node) works() bool {
	return !slices.ContainsFunc(n.w.shares, func(share string) bool { return n.lease(share) == nil })
}

// owned are the shares that the instance says it owns, Queue aside.
func (n *node) owned() []string {
	var out []string
	for _, share := range n.w.shares {
		if n.keeper.Owns(share) {
			out = append(out, share)
		}
	}
	return out
}

// until lets time pass until cond holds, or two minutes are over. All the while
// no share may have two valid owners.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	for range 12000 {
		if w.server != nil {
			synctest.Wait()
		}
		if cond() {
			return
		}
		w.pass(10 * time.Millisecond)
	}
	w.t.Fatalf("in vain waited until %s", what)
}

// pass lets time pass, in which no share may have two valid owners.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	for ; d > 0; d -= 10 * time.Millisecond {
		time.Sleep(min(d, 10*time.Millisecond))
		w.checkOwners()
	}
}

func (w *world) checkOwners() {
	w.t.Helper()
	type owner struct {
		node  string
		lease *Lease
	}
	valid := make(map[string]owner)
	for _, n := range w.nodes {
		n.mu.Lock()
		for share, l := range n.leases {
			if !l.Valid() {
				continue
			}
			// In real time the first may have ended since it was looked at.
			if other := valid[share]; other.lease != nil && other.lease.Valid() {
				w.t.Errorf("%s and %s own %s at one time", other.node, n.name, share)
			}
			valid[share] = owner{n.name, l}
		}
		n.mu.Unlock()
	}
}

// shared reports whether all shares are owned, each by one, evenly over the nodes.
func (w *world) shared(nodes ...*node) bool {
	var all []string
	least, most := len(w.shares), 0
	for _, n := range nodes {
		owned := n.owned()
		least, most = min(least, len(owned)), max(most, len(owned))
		all = append(all, owned...)
	}
	slices.Sort(all)
	return slices.Equal(all, w.shares) && most-least <= 1
}

// goesBy is the name under which an instance is registered.
func (k *Keeper) goesBy() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.name
}
