package lease

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// bell listens to one document, which every commit writes that changes what a plan
// depends on, and no renewal does: listening to the leases themselves would be a
// read for each renewal of each. It is only a bell: who hears it reads for himself,
// and looks now and then although it is silent.
type bell struct {
	store Store
	log   *zap.Logger
	rung  chan struct{} // holds a token once it rang

	rebuild chan struct{}
	mu      sync.Mutex
	heard   string // the nonce that the listener told last
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

// bellID is the ID of that document, which no share can have.
const bellID = "!bell"

var (
	allLeases = dlq.Query{Collection: contracts.CollectionLeases}
	bellAlone = dlq.Query{Collection: contracts.CollectionLeases, Where: []dlq.Where{{Field: dlq.FieldID, Op: "==", Value: bellID}}}
)

// ring is the write that a commit of that nonce rings with.
func ring(nonce string) dlq.Write {
	return dlq.Write{Collection: contracts.CollectionLeases, ID: bellID, Op: dlq.OpSet, Fields: map[string]any{fieldKind: kindBell, fieldNonce: nonce}}
}

// rungBy is the nonce that the bell was rung with last; "": never, or it is not
// among the documents.
func rungBy(docs []dlq.Doc) string {
	for _, d := range docs {
		if d.ID == bellID {
			return text(d, fieldNonce)
		}
	}
	return ""
}

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
	go func() { ended <- b.store.Watch(ctx, bellAlone, b.told) }() // ends with ctx
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
	now := rungBy(docs)
	b.mu.Lock()
	news := b.heard != now
	b.heard = now
	b.mu.Unlock()
	if news {
		signal(b.rung)
	}
}

// missed has the listener rebuilt if it has not told of a nonce that has been there
// for a while.
func (b *bell) missed(nonce string) {
	b.mu.Lock()
	missed := b.heard != nonce
	b.mu.Unlock()
	if missed {
		signal(b.rebuild)
	}
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
