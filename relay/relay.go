package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/ier"
	"outboxrelay/lanes"
)

// Config is what a relay is made of.
type Config struct {
	Catalog    *contracts.Catalog
	Store      Store
	Router     *ier.Router
	Log        *zap.Logger           // nil: none
	Registerer prometheus.Registerer // nil: no metrics
	Tracer     trace.Tracer          // makes the spans of records' ways; nil: none
	Tuning     Tuning                // zero fields take their defaults
	// Leases decide which outboxes are this instance's. nil: all of them, always;
	// for a relay that has no other beside it.
	Leases *Leases
	// Queue is the dead-letter queue, whose freezes and lane controls the relay
	// follows. nil: nothing is frozen, paused or told to siblings.
	Queue *dlq.Queue
	// Random is uniform in [0,1) and spreads the retries of records; it may be called
	// by several goroutines at once. nil: math/rand's.
	Random func() float64
	// Siblings run with the relay, from the moment at which freezes and lane
	// controls are known. Those that need the relay itself are joined later.
	Siblings []Sibling
}

// Relay moves records from their outboxes to their ends.
type Relay struct {
	catalog  *contracts.Catalog
	store    Store
	router   *ier.Router
	log      *zap.Logger
	metrics  *Metrics
	tracing  *tracing
	tuning   Tuning
	now      func() time.Time
	random   func() float64 // uniform in [0,1)
	pools    map[contracts.Lane]*lanes.Pool
	settlers map[contracts.Lane]*settler
	// pageSlots has one page in work at a time, see outbox.
	pageSlots map[contracts.Lane]chan struct{}
	memories  map[contracts.Lane]*memory
	pacers    map[contracts.Lane]*pacer // of the lanes that give way
	// beginTurns has some shares begin at a time.
	beginTurns beginTurns
	received   received
	owners     owners
	shares     shares
	shared     bool // with other instances, through leases
	leads      atomic.Bool
	stopping   atomic.Bool

	queue    *dlq.Queue
	burials  *burials
	known    chan struct{} // closed once freezes and lane controls are
	takeUps  *takeUps      // looks at the freezes as outboxes begin
	freezes  *freezes
	controls *laneControls
	replays  replays
	siblings []Sibling
}

// New joins a relay. Run starts it.
func New(c Config) (*Relay, error) {
	if c.Catalog == nil || c.Store == nil || c.Router == nil {
		return nil, errors.New("make relay: catalog, store and router are required")
	}
	tuning := c.Tuning.withDefaults()
	if err := tuning.Validate(); err != nil {
		return nil, fmt.Errorf("make relay: %w", err)
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	metrics := newMetrics(c.Registerer, c.Catalog)
	r := &Relay{
		catalog: c.Catalog, store: metered{bounded{c.Store, tuning.CommitTimeout}, metrics}, router: c.Router, log: c.Log, metrics: metrics,
		tracing: newTracing(c.Tracer, time.Now, c.Registerer, c.Catalog), tuning: tuning, now: time.Now, random: c.Random,
		pools: make(map[contracts.Lane]*lanes.Pool), settlers: make(map[contracts.Lane]*settler),
		pageSlots: make(map[contracts.Lane]chan struct{}), memories: newMemories(c.Catalog), beginTurns: newBeginTurns(len(c.Catalog.Shares())), received: newReceived(),
		shared: c.Leases != nil,
		queue:  c.Queue, burials: &burials{queue: c.Queue}, siblings: slices.Clone(c.Siblings),
	}
	r.known, r.takeUps = make(chan struct{}), newTakeUps()
	r.freezes = newFreezes(c.Queue, c.Log, r.metrics)
	r.controls = &laneControls{queue: c.Queue, pools: r.pools, log: c.Log}
	laneMetrics := lanes.NewMetrics(c.Registerer)
	for _, lane := range contracts.Lanes() {
		policy := c.Catalog.Lanes[lane]
		pool, err := lanes.New(lanes.Config{
			Lane: lane, Policy: policy, Handler: r.deliver, Share: shareOf(c.Catalog, lane), Short: short, Shed: shed, Idle: r.idleOf(lane), Log: c.Log, Metrics: laneMetrics,
		})
		if err != nil {
			return nil, fmt.Errorf("make relay: %w", err)
		}
		r.pools[lane] = pool
		r.pageSlots[lane] = make(chan struct{}, 1)
		r.settlers[lane] = newSettler(lane, policy.SettleLinger, c.Store, tuning, r.now, c.Log.With(zap.String("lane", string(lane))), r.metrics)
	}
	r.pacers = map[contracts.Lane]*pacer{contracts.BackgroundLane: newPacer(r.pools[contracts.BackgroundLane], r.now)}
	var err error
	if r.owners, err = r.newOwners(c); err != nil {
		return nil, fmt.Errorf("make relay: %w", err)
	}
	c.Router.Subscribe(r.breakerChanged)
	if c.Registerer != nil {
		c.Registerer.MustRegister(gauges{r})
	}
	return r, nil
}

// Run relays until ctx ends, then stops in order: it reads nothing more, finishes
// what is in delivery, writes what became of it, gives its outboxes back, and
// returns within the stop budget. What was not begun stays in Firestore as it
// is. A relay runs once. An error says why it stopped by itself.
func (r *Relay) Run(ctx context.Context) error {
	// What is under way outlives the order to stop.
	work, endWork := context.WithCancel(context.WithoutCancel(ctx))
	defer endWork()
	g, fetch := errgroup.WithContext(ctx)
	var follow []*follower
	if r.queue != nil {
		follow = []*follower{r.followFreezes(), r.followLanes()}
	}
	g.Go(func() error { return r.owners.Run(fetch) }) // which owns nothing before these are known
	loadAll(fetch, follow)
	var settling sync.WaitGroup
	for _, lane := range contracts.Lanes() {
		settling.Go(func() { r.settlers[lane].run(work) })
		r.pools[lane].Start(work)
	}
	if fetch.Err() == nil {
		close(r.known)
	}
	for _, f := range follow {
		g.Go(func() error { return f.run(fetch) })
	}
	g.Go(func() error { r.proveInTurn(fetch); return nil })
	for _, s := range r.siblings {
		g.Go(func() error { return r.runSibling(fetch, s) })
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Wait() }() // as all of them end with fetch
	<-fetch.Done()
	return r.stop(ended, &settling, endWork)
}

// Shares of the stop budget: deliveries get the larger part (a publish may take
// its whole timeout), the lanes a little to end what did not, the last commits
// the rest.
const (
	deliveryShare = 0.65
	drainShare    = 0.1
)

// stop returns what ended says, which tells that the outboxes are given back
// and the siblings are through.
func (r *Relay) stop(ended <-chan error, settling *sync.WaitGroup, endWork context.CancelFunc) (err error) {
	r.stopping.Store(true)
	began := r.now()
	r.log.Info("stopping: finishing what is in delivery")
	share := func(f float64) time.Duration { return time.Duration(f * float64(r.tuning.StopBudget)) }
	budget, cancel := context.WithTimeout(context.Background(), r.tuning.StopBudget)
	defer cancel()
	waiting := true
	select {
	case err = <-ended:
		waiting = false
	case <-time.After(share(deliveryShare + drainShare/2)):
		r.log.Warn("outboxes or siblings are still at work, stopping the lanes under them")
	}
	r.drain(budget, share(drainShare))
	for _, s := range r.settlers {
		s.drain()
	}
	flushed := make(chan struct{})
	go func() { settling.Wait(); close(flushed) }()
	select {
	case <-flushed:
	case <-budget.Done():
		r.log.Warn("stop budget is used up before everything was written; what is missing will be delivered again")
	}
	endWork()
	<-flushed
	if waiting {
		err = <-ended
	}
	r.log.Info("stopped", zap.Duration("took", r.now().Sub(began)))
	return err
}

// drain closes the lanes. What they give back was not begun, or is cut off.
func (r *Relay) drain(budget context.Context, within time.Duration) {
	ctx, cancel := context.WithTimeout(budget, within)
	defer cancel()
	var drains sync.WaitGroup
	for _, p := range r.pools {
		drains.Go(func() {
			for _, t := range p.Drain(ctx) {
				switch w := t.Work.(type) {
				case *replay:
					w.finish(dlq.Round{}, errStopping)
				case *entry:
					if ctx.Err() == nil { // else its worker may still be at it
						w.giveBack()
					}
				}
			}
		})
	}
	drains.Wait()
}

// over bounds what a relay writes last.
func (r *Relay) over() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Duration(drainShare*float64(r.tuning.StopBudget)))
}

// breakerChanged lets the records of a target go on once it answers again.
func (r *Relay) breakerChanged(target string, open bool) {
	if open {
		return
	}
	for _, o := range r.shares.list() {
		o.openTarget(target)
	}
	for _, p := range r.pools {
		p.Wake(target)
	}
	if r.queue != nil {
		r.queue.Ring(dlq.BellReplays)
	}
}

// idleOf routes a lane's word that an aggregate is empty to its outbox.
func (r *Relay) idleOf(lane contracts.Lane) func(aggregate string) {
	return func(aggregate string) {
		name, _, _ := strings.Cut(aggregate, "\x00")
		for _, o := range r.shares.list() {
			if o.spec.Name == name {
				o.idle(aggregate, lane)
			}
		}
	}
}
