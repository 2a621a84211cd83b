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
	Tuning     Tuning                // zero fields take their defaults
	// Queue is the dead-letter queue, whose freezes and lane controls the relay
	// follows. nil: nothing is frozen, paused or told to siblings.
	Queue *dlq.Queue
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
	tuning   Tuning
	now      func() time.Time
	random   func() float64 // uniform in [0,1)
	pools    map[contracts.Lane]*lanes.Pool
	settlers map[contracts.Lane]*settler
	// pageSlots bounds the pages in work, see outbox.
	pageSlots map[contracts.Lane]chan struct{}
	pacers    map[contracts.Lane]*pacer // of the lanes that give way
	outboxes  []*outbox
	stopping  atomic.Bool

	queue    *dlq.Queue
	burials  *burials
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
	r := &Relay{
		catalog: c.Catalog, store: bounded{c.Store, tuning.CommitTimeout}, router: c.Router, log: c.Log, metrics: newMetrics(c.Registerer, c.Catalog),
		tuning: tuning, now: time.Now, random: rand.Float64,
		pools: make(map[contracts.Lane]*lanes.Pool), settlers: make(map[contracts.Lane]*settler),
		pageSlots: make(map[contracts.Lane]chan struct{}),
		queue:     c.Queue, burials: &burials{queue: c.Queue}, siblings: slices.Clone(c.Siblings),
	}
	r.freezes = newFreezes(c.Queue, c.Log, r.metrics)
	r.controls = &laneControls{queue: c.Queue, pools: r.pools, log: c.Log}
	laneMetrics := lanes.NewMetrics(c.Registerer)
	for _, lane := range contracts.Lanes() {
		policy := c.Catalog.Lanes[lane]
		pool, err := lanes.New(lanes.Config{
			Lane: lane, Policy: policy, Handler: r.deliver, Idle: r.idle, Log: c.Log, Metrics: laneMetrics,
		})
		if err != nil {
			return nil, fmt.Errorf("make relay: %w", err)
		}
		r.pools[lane] = pool
		r.pageSlots[lane] = make(chan struct{}, pagesAtOnce)
		r.settlers[lane] = newSettler(lane, policy.SettleLinger, c.Store, tuning, r.now, c.Log.With(zap.String("lane", string(lane))), r.metrics)
	}
	r.pacers = map[contracts.Lane]*pacer{contracts.BackgroundLane: newPacer(r.pools[contracts.BackgroundLane], r.now)}
	for _, spec := range c.Catalog.Outboxes {
		r.outboxes = append(r.outboxes, r.newOutbox(spec))
	}
	r.freezes.outboxes = r.outboxes
	c.Router.Subscribe(r.breakerChanged)
	return r, nil
}

// pagesAtOnce is how many pages of a lane are in work at once. Two keep the
// lane's workers busy while one is on its way.
const pagesAtOnce = 2

// Run relays until ctx ends, then stops in order: it reads nothing more, lets
// its siblings end, finishes what is in delivery, writes what became of it, and
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
	for _, f := range follow {
		f.load(fetch) // before anything is read that may be frozen or paused
	}
	var settling sync.WaitGroup
	for _, lane := range contracts.Lanes() {
		settling.Go(func() { r.settlers[lane].run(work) })
		r.pools[lane].Start(work)
	}
	for _, f := range follow {
		g.Go(func() error { return f.run(fetch) })
	}
	for _, o := range r.outboxes {
		g.Go(func() error { return o.run(fetch) })
	}
	for _, s := range r.siblings {
		g.Go(func() error { return r.runSibling(fetch, s) })
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Wait() }() // as all of them end with fetch
	<-fetch.Done()
	return r.stop(ended, &settling, endWork)
}

// Shares of the stop budget: the siblings get a little of it to end while the
// lanes still deliver, deliveries the larger part (a publish may take its whole
// timeout), the last commits the rest.
const (
	siblingShare  = 0.2
	deliveryShare = 0.65
)

// stop returns what ended says, which tells that all who read and the siblings
// are through.
func (r *Relay) stop(ended <-chan error, settling *sync.WaitGroup, endWork context.CancelFunc) (err error) {
	r.stopping.Store(true)
	began := r.now()
	r.log.Info("stopping: finishing what is in delivery")
	budget, cancel := context.WithTimeout(context.Background(), r.tuning.StopBudget)
	defer cancel()
	waiting := true
	select {
	case err = <-ended:
		waiting = false
	case <-time.After(time.Duration(siblingShare * float64(r.tuning.StopBudget))):
		r.log.Warn("siblings are still at work, stopping the lanes under them")
	}
	deliver, cancelDeliver := context.WithTimeout(budget, time.Duration(deliveryShare*float64(r.tuning.StopBudget)))
	defer cancelDeliver()
	var drains sync.WaitGroup
	var unfinished atomic.Int64
	for _, p := range r.pools {
		drains.Go(func() {
			for _, t := range p.Drain(deliver) {
				switch w := t.Work.(type) {
				case *replay:
					w.finish(dlq.Round{}, errStopping)
				case *entry:
					unfinished.Add(1)
					if deliver.Err() == nil { // else its worker may still be at it
						w.keepProgress(r.now())
					}
				}
			}
		})
	}
	drains.Wait()
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
	r.removeCanaries(budget)
	r.log.Info("stopped", zap.Duration("took", r.now().Sub(began)), zap.Int64("leftInFirestore", unfinished.Load()))
	if waiting {
		err = <-ended
	}
	return err
}

// removeCanaries leaves the outboxes as they were found, if there is time.
func (r *Relay) removeCanaries(ctx context.Context) {
	var writes []Write
	for _, o := range r.outboxes {
		for _, f := range o.feeds {
			writes = append(writes, canaryFor(Scan{Outbox: o.spec.Name, Kind: ScanLane, Lane: f.lane}).removal())
		}
		writes = append(writes, canaryFor(Scan{Outbox: o.spec.Name, Kind: ScanStrays}).removal())
	}
	if _, err := r.store.Commit(ctx, writes); err != nil {
		r.log.Warn("remove canaries", zap.Error(err))
	}
}

// breakerChanged lets the records of a target go on once it answers again.
func (r *Relay) breakerChanged(target string, open bool) {
	if open {
		return
	}
	for _, o := range r.outboxes {
		o.openTarget(target)
	}
	for _, p := range r.pools {
		p.Wake(target)
	}
	if r.queue != nil {
		r.queue.Ring(dlq.BellReplays)
	}
}

// idle routes a lane's word that an aggregate is empty to its outbox.
func (r *Relay) idle(aggregate string) {
	name, _, _ := strings.Cut(aggregate, "\x00")
	for _, o := range r.outboxes {
		if o.spec.Name == name {
			o.idle(aggregate)
		}
	}
}
