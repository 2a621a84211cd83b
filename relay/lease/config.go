package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Store is what a keeper needs of Firestore. It is the part of dlq.Store that
// it uses; package dlq/firestore implements it.
type Store interface {
	// Get reads documents by ID, in the order of ids. One that does not exist
	// has a zero UpdateTime.
	Get(ctx context.Context, collection string, ids ...string) ([]dlq.Doc, error)
	// Query reads all documents of q, each with the server's time of the read.
	Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error)
	// Commit applies all writes or none, at one time, which it returns. An error
	// says by behaviour what it means; see dlq.CommitError.
	Commit(ctx context.Context, writes []dlq.Write) (time.Time, error)
	// Watch calls f with the whole result of q, now and after each change, until
	// ctx ends or the listener fails. It always returns an error.
	Watch(ctx context.Context, q dlq.Query, f func([]dlq.Doc)) error
}

// Queue is the share beside those of the catalog: what only one instance may do
// for the dead-letter queue.
const Queue = contracts.ShareQueue

// Config is what a keeper is made of.
type Config struct {
	Store Store
	// Instance names this process, in characters that a document ID may hold. Of
	// two live instances of one name, the later goes by a longer one.
	Instance string
	Revision string // for operators to read; may be empty
	// Shares are all that there is to own, except Queue.
	Shares []string
	// Term is how long a lease stands without being renewed. Default 15 s, at
	// least 1 s. Instances may differ in it.
	Term time.Duration
	// StopBudget bounds what follows the end of Run's context, and how long Work
	// that is told to hand over may take. Default 8 s.
	StopBudget time.Duration
	// Work does a share's work until ctx ends and nothing of it goes on. It
	// returns writes that go into the commit that releases the lease; they are
	// left out if they stand in its way. context.Cause(ctx) is ErrHandOver,
	// ErrStopping, or ErrLost, upon which nothing is released. Each share has one
	// Work at a time.
	Work func(ctx context.Context, l *Lease) []dlq.Write

	// Ready is closed once this instance may own shares: until then it takes no part,
	// and no other gives it any. nil: it may from the start.
	Ready <-chan struct{}

	// Note says in a few words how a share does that this instance has. It is
	// told with each renewal to the others, see Holder. It must not block. nil:
	// nothing is told.
	Note func(share string) string
	// Beat is called when the goroutine that keeps the leases goes on: before
	// each call to Firestore, each of which is bounded by a fifth of a term, and
	// after each pause, a third of it at most. It must not block. nil: not called.
	Beat func()

	Log        *zap.Logger           // nil: none
	Registerer prometheus.Registerer // nil: no metrics
}

// Why a Work's context ended.
var (
	ErrHandOver = errors.New("the share is handed over to another instance")
	ErrLost     = errors.New("the lease was lost to another instance")
	ErrStopping = errors.New("the instance stops")
)

// DefaultTerm and DefaultStopBudget are the defaults of Config.
const (
	DefaultTerm       = 15 * time.Second
	DefaultStopBudget = 8 * time.Second
)

// minTerm leaves a third of a term time enough for a renewal over a slow way.
const minTerm = time.Second

// withDefaults fills the zero fields that have a default.
func (c Config) withDefaults() Config {
	if c.Term == 0 {
		c.Term = DefaultTerm
	}
	if c.StopBudget == 0 {
		c.StopBudget = DefaultStopBudget
	}
	if c.Beat == nil {
		c.Beat = func() {}
	}
	if c.Ready == nil {
		ready := make(chan struct{})
		close(ready)
		c.Ready = ready
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	c.Shares = slices.Sorted(slices.Values(c.Shares))
	return c
}

// Validate names everything that is wrong. Zero fields stand for their defaults.
func (c Config) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Store == nil || c.Work == nil {
		fault("Store and Work are required")
	}
	if c.Term != 0 && (c.Term < minTerm || c.Term > maxTerm) {
		fault("Term is %v, want %v to %v", c.Term, minTerm, maxTerm)
	}
	if c.StopBudget < 0 {
		fault("StopBudget is %v, want more than 0", c.StopBudget)
	}
	if !fitsID(c.Instance) {
		fault("Instance is %q, want 1 to %d bytes without a slash", c.Instance, maxName)
	}
	seen := map[string]bool{Queue: true, bellID: true}
	for _, share := range c.Shares {
		switch {
		case !fitsID(share) || strings.HasPrefix(share, registrationPrefix):
			fault("share %q cannot be the ID of a lease", share)
		case seen[share]:
			fault("share %q stands twice, or is the service's own", share)
		}
		seen[share] = true
	}
	return errors.Join(errs...)
}

// maxName leaves room in a document's ID for what is added to a name.
const maxName = contracts.MaxAttributeBytes

// fitsID reports whether a name may be an ID of a document, or a part of one.
func fitsID(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= maxName && !strings.Contains(name, "/")
}
