package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// bell listens to the leases and rings when something changed that a plan
// depends on. It is only a bell: who hears it reads for himself, and looks
// now and then although it is silent.
type bell struct {
	store Store
	log   *zap.Logger
	rung  chan struct{} // holds a token once it rang

	rebuild chan struct{}
	mu      sync.Mutex
	heard   string // the outline that the listener told last
}

// Bounds of a listener. An old one is replaced, because the client's stream
// keeps a little of every reconnection.
const (
	recycleAfter    = 30 * time.Minute
	listenPause     = 100 * time.Millisecond
	listenPauseMost = 10 * time.Second
)

func newBell(store Store, log *zap.Logger) *bell {
	return &bell{store: store, log: log, rung: make(chan struct{}, 1), rebuild: make(chan struct{}, 1)}
}

var allLeases = dlq.Query{Collection: contracts.CollectionLeases}

// follow listens until ctx ends: one listener after another, each with a
// context of its own.
func (b *bell) follow(ctx context.Context) {
	pause := listenPause
	for ctx.Err() == nil {
		began := time.Now()
		err := b.listen(ctx)
		if ctx.Err() != nil || err == nil {
			continue
		}
		b.log.Warn("listener to leases ended, rebuilding it", zap.String("reason", contracts.CodeOf(err)), zap.Error(err))
		if time.Since(began) > listenPauseMost {
			pause = listenPause
		}
		sleep(ctx, pause)
		pause = min(2*pause, listenPauseMost)
	}
}

// listen returns nil when its listener is to be replaced as planned.
func (b *bell) listen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, recycleAfter)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- b.store.Watch(ctx, allLeases, b.told) }() // ends with ctx
	var err error
	select {
	case err = <-ended:
	case <-b.rebuild:
		cancel()
		err = <-ended
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (b *bell) told(docs []dlq.Doc) {
	now := outline(docs)
	b.mu.Lock()
	news := b.heard != now
	b.heard = now
	b.mu.Unlock()
	if news {
		signal(b.rung)
	}
}

// missed has the listener rebuilt if it has not told of an outline that has
// been there for a while.
func (b *bell) missed(outline string) {
	b.mu.Lock()
	missed := b.heard != outline
	b.mu.Unlock()
	if missed {
		signal(b.rebuild)
	}
}

// outline is what a plan depends on, ages aside. Renewals leave it as it is.
func outline(docs []dlq.Doc) string {
	lines := make([]string, len(docs))
	for i, d := range docs {
		lines[i] = fmt.Sprintf("%s %q %v\n", d.ID, text(d, fieldOwner), d.Fields[fieldStopping])
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// signal leaves a token, unless one lies there.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
