package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/relay/lease"
)

// Leases is how a relay shares the outboxes with others, through lease
// documents in Firestore.
type Leases struct {
	Store    lease.Store
	Instance string        // this process; see lease.Config
	Revision string        // told to operators
	Term     time.Duration // of a lease; 0: the default of lease.Config
	Beat     func()        // see lease.Config; may be nil
}

// owners decides which shares are this instance's, and has their work done for
// as long as they are.
type owners interface {
	// Run returns once ctx has ended and nothing of any share's work goes on.
	Run(ctx context.Context) error
	// Ready reports whether shares can be given to this instance.
	Ready() bool
	// Trouble is the code that the last of its calls failed with; "" if it did not.
	Trouble() string
	// Owns reports whether the share is this instance's and not about to be
	// another's.
	Owns(share string) bool
	Holders() []lease.Holder
}

// grant is the right to do a share's work.
type grant interface {
	// Valid reports whether a delivery may begin now.
	Valid() bool
	// Ended reports whether there will be none any more.
	Ended() bool
	// Since is the server's time of the commit that gave it; zero if none did.
	Since() time.Time
	// Idle is for how long nobody had the right when it was given.
	Idle() time.Duration
}

// newOwners returns those that leases decide, or an instance that is alone.
func (r *Relay) newOwners(c Config) (owners, error) {
	var names []string
	for _, s := range c.Catalog.Shares() {
		names = append(names, s.String())
	}
	if c.Leases == nil {
		return &alone{shares: append(names, lease.Queue), ready: r.known, work: r.work, store: c.Store, log: c.Log, over: r.over}, nil
	}
	return lease.New(lease.Config{
		Store: c.Leases.Store, Instance: c.Leases.Instance, Revision: c.Leases.Revision, Shares: names, Term: c.Leases.Term,
		Ready: r.known, Work: func(ctx context.Context, l *lease.Lease) []Write { return r.work(ctx, l.Share(), l) },
		Note: r.note, Beat: c.Leases.Beat, StopBudget: r.tuning.StopBudget, Log: c.Log.Named("lease"), Registerer: c.Registerer,
	})
}

// alone owns everything, always: for a relay that has no other beside it.
type alone struct {
	shares []string
	ready  <-chan struct{} // closed when work may begin
	work   func(ctx context.Context, share string, g grant) []Write
	store  Store
	log    *zap.Logger
	over   func() (context.Context, context.CancelFunc) // bounds the last writes
}

var errWorkEnded = errors.New("its work ended before it was told to")

// Run implements owners. It fails when a share's work ends by itself.
func (a *alone) Run(ctx context.Context) error {
	select {
	case <-a.ready:
	case <-ctx.Done():
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, share := range a.shares {
		g.Go(func() error {
			last := a.work(ctx, share, always{})
			if ctx.Err() == nil {
				return fmt.Errorf("relay %s: %w", share, errWorkEnded)
			}
			if len(last) == 0 {
				return nil
			}
			c, cancel := a.over()
			defer cancel()
			if _, err := a.store.Commit(c, last); err != nil {
				a.log.Warn("tidy up after a share", zap.String("share", share), zap.Error(err))
			}
			return nil
		})
	}
	return g.Wait()
}

// Ready implements owners.
func (a *alone) Ready() bool { return false } // its listeners tell

// Trouble implements owners.
func (a *alone) Trouble() string { return "" }

// Owns implements owners.
func (a *alone) Owns(string) bool { return true }

// Holders implements owners.
func (a *alone) Holders() []lease.Holder { return nil }

// always is the grant of an instance that is alone.
type always struct{}

func (always) Valid() bool { return true }

func (always) Ended() bool { return false }

func (always) Since() time.Time { return time.Time{} }

// Idle is not known of the process before: it may have been killed a moment ago.
func (always) Idle() time.Duration { return 0 }
