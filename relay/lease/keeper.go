package lease

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Keeper owns shares for one instance. One goroutine, Run's, decides and writes;
// reads and Work run beside it.
type Keeper struct {
	config  Config
	log     *zap.Logger
	metrics *metrics
	shares  []string // all, with Queue
	epoch   time.Time
	nonces  *nonces

	// Work's contexts are children of work, which ends with Run's context.
	work    context.Context
	endWork context.CancelCauseFunc
	ended   chan returned

	// When what is due next, on the local monotonic clock.
	registerAt, renewAt, lookAt, glanceAt time.Time
	pauses                                map[string]time.Time // shares whose Work failed: not to be taken before
	stopping                              bool

	looking bool
	views   chan sighting
	changes int       // takes and releases so far: a view from before one is out of date
	rungAt  time.Time // since when the bell has had the nonce of the view
	bell    *bell
	aside   sync.WaitGroup // who reads

	mu   sync.Mutex // the loop alone writes what follows; others read
	name string     // Instance, or a longer one
	// trouble is the code that the last call failed with; "" if it did not.
	trouble string
	me      *claim // the registration; nil before it is made
	held    map[string]*holding
	view    view
}

// Parts of a term.
const (
	renewEvery = 3  // renewals, and glances
	callEvery  = 5  // the bound of one call: one that hangs leaves time for another
	retryEvery = 15 // the pause after a call that failed
)

// collisionPause is the pause before shares are looked at again of which another
// was quicker to take one.
const collisionPause = 50 * time.Millisecond

// New makes a keeper. Run starts it.
func New(c Config) (*Keeper, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make keeper of leases: %w", err)
	}
	c = c.withDefaults()
	shares := slices.Sorted(slices.Values(append(slices.Clone(c.Shares), Queue)))
	return &Keeper{
		config: c, log: c.Log.With(zap.String("instance", c.Instance)), metrics: newMetrics(c.Registerer, shares), shares: shares,
		epoch: time.Now(), nonces: newNonces(c.Term, time.Now), ended: make(chan returned, len(shares)), pauses: make(map[string]time.Time),
		views: make(chan sighting, 1), bell: newBell(c.Store, c.Log), name: c.Instance, held: make(map[string]*holding),
	}, nil
}

// Run owns shares until ctx ends. Then it ends all Work at the same time,
// releases each share as its Work is through, and takes the instance out of
// the plan, within StopBudget; Work that is not through by then is left to
// itself, and its lease to run out. It always returns nil. A keeper runs once.
func (k *Keeper) Run(ctx context.Context) error {
	// What is under way outlives the order to stop.
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k.work, k.endWork = context.WithCancelCause(calls)
	defer k.aside.Wait()
	defer cancel()
	stopBy := make(chan time.Time, 1) // from the order on, whatever call it comes into
	stopped := context.AfterFunc(ctx, func() {
		stopBy <- time.Now().Add(k.config.StopBudget)
		time.AfterFunc(k.config.StopBudget, cancel) // or several calls that hang take longer
		k.endWork(ErrStopping)
	})
	defer stopped()
	k.aside.Go(func() { k.bell.follow(calls) })
	k.enter(ctx, calls)

	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		k.config.Beat()
		k.turn(calls)
		timer.Reset(time.Until(k.next()))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-k.bell.rung:
			k.lookBy(time.Now())
		case s := <-k.views:
			k.see(calls, s)
		case r := <-k.ended:
			k.through(r, ctx.Err() != nil)
		}
	}
	k.stop(calls, <-stopBy)
	return nil
}

// turn does what is due.
func (k *Keeper) turn(ctx context.Context) {
	k.noticeLapses()
	if k.me == nil {
		if !time.Now().Before(k.registerAt) {
			k.register(ctx)
		}
		if k.me == nil && len(k.held) == 0 {
			return // nobody plans for who is not registered
		}
	}
	if !time.Now().Before(k.renewAt) {
		k.renew(ctx)
	}
	k.releaseThrough(ctx)
	if now := time.Now(); !k.looking && (!now.Before(k.lookAt) || !now.Before(k.glanceAt)) {
		k.look(ctx)
	}
}

// next is when something is due.
func (k *Keeper) next() time.Time {
	if k.me == nil && len(k.held) == 0 {
		return k.registerAt
	}
	next := k.renewAt
	soonest := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	if k.me == nil {
		soonest(k.registerAt)
	}
	if !k.looking {
		soonest(k.lookAt)
		soonest(k.glanceAt)
	}
	for _, h := range k.held {
		switch {
		case h.done && !h.lost:
			soonest(h.releaseAt)
		case !h.lapsed && !h.lost:
			soonest(h.lease.ends())
		}
	}
	return next
}

// commit sends writes, for as long as a call may take.
func (k *Keeper) commit(ctx context.Context, writes ...dlq.Write) (time.Time, error) {
	k.config.Beat()
	ctx, cancel := context.WithTimeout(ctx, k.config.Term/callEvery)
	defer cancel()
	at, err := k.config.Store.Commit(ctx, writes)
	k.came(err)
	return at, err
}

// came notes what came of a commit, or why a look failed. That others were faster is no trouble.
func (k *Keeper) came(err error) {
	code := ""
	if err != nil && !dlq.IsRefused(err) {
		code = contracts.CodeOf(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trouble = code
}

// Trouble is the code that the last commit or look failed with, until a commit succeeds; "" where none did.
func (k *Keeper) Trouble() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.trouble
}

// retryPause is the pause after a call that failed.
func (k *Keeper) retryPause() time.Duration { return k.config.Term / retryEvery }
