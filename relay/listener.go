package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// listener is a supervised snapshot listener. Whatever ends its stream (an
// error of any code, an open that failed, a panic in the SDK, silence) it opens
// a new one with a fresh context after a backoff. What the streams tell is
// collected until its reader takes it.
type listener struct {
	scan   Scan
	store  Store
	tuning Tuning
	now    func() time.Time
	log    *zap.Logger
	guard  guard
	state  *listenerState
	ready  chan struct{} // a token when there is something to take

	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	changed map[string]Doc
	size    int
	told    bool // a snapshot was there
	shows   bool // a stream is open and has told its window
	opened  bool // the first snapshot of a stream, or since it was opened again, is in changed
	large   *TooMuchAtOnce
}

var (
	errSilent   = errors.New("canary not seen in time")
	errRecycled = errors.New("listener is old enough")
)

func (o *outbox) startListener(ctx context.Context, scan Scan, log *zap.Logger) *listener {
	ctx, cancel := context.WithCancel(ctx)
	l := &listener{
		scan: scan, store: o.store, tuning: o.tuning, now: o.now, log: log, guard: guard{log, o.metrics.panics}, state: o.health.listener(scan),
		ready: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}), changed: make(map[string]Doc),
	}
	l.state.began(o.now())
	go func() {
		defer close(l.done)
		l.supervise(ctx)
	}()
	return l
}

// stop ends the listener and waits for it.
func (l *listener) stop() {
	l.cancel()
	<-l.done
}

// take returns what changed since the last take, whether the window is full, so
// that there may be more behind it, and whether the first snapshot of a stream, or
// since it was opened again, is among it.
func (l *listener) take() (docs []Doc, full, opened bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.changed {
		docs = append(docs, d)
	}
	clear(l.changed)
	opened, l.opened = l.opened, false
	return docs, l.size >= l.scan.Limit, opened
}

// toldAll reports whether nothing changed since the last take.
func (l *listener) toldAll() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.changed) == 0
}

// tooMuch returns what came at once, if that was more than the scan's Bytes. The
// listener tells nothing more then.
func (l *listener) tooMuch() *TooMuchAtOnce {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.large
}

// shown returns how many documents are in the window now.
func (l *listener) shown() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// blind reports whether no stream tells of what comes, as one is still opening.
func (l *listener) blind() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.shows
}

func (l *listener) show(shows bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shows = shows
}

// full reports whether the window is full now.
func (l *listener) full() bool { return l.shown() >= l.scan.Limit }

func (l *listener) supervise(ctx context.Context) {
	delay := l.tuning.retryDelay()
	for {
		began := l.now()
		err := l.once(ctx)
		if ctx.Err() != nil {
			l.state.closed()
			return
		}
		if l.overflowed(err) {
			l.state.closed()
			return
		}
		reason := endReason(err)
		l.state.ended(reason)
		if errors.Is(err, errRecycled) {
			l.log.Debug("listener recycled")
			continue
		}
		l.log.Warn("listener ended, rebuilding it", zap.String("reason", reason), zap.Error(err))
		if l.now().Sub(began) > l.tuning.ListenBackoffMax {
			delay.reset()
		}
		delay.sleep(ctx)
	}
}

// overflowed reports whether the listener ended as too much came at once, and tells
// its reader, who has to go about it in another way.
func (l *listener) overflowed(err error) bool {
	var large *TooMuchAtOnce
	if !errors.As(err, &large) {
		return false
	}
	l.state.health.metrics.read(l.scan.Outbox, readByListener, large.Documents)
	l.mu.Lock()
	l.large = large
	l.mu.Unlock()
	signal(l.ready)
	return true
}

// endReason is the bounded word for why a stream ended.
func endReason(err error) string {
	switch {
	case errors.Is(err, errSilent):
		return "silent"
	case panicked(err):
		return "panic"
	case errors.Is(err, errRecycled):
		return "recycled"
	default:
		return contracts.CodeOf(err)
	}
}

// once opens one stream and reads it to its end.
func (l *listener) once(ctx context.Context) error {
	// A context of its own: ending it is the only way to free a stream.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bird := newWatchdog(l)
	g, ctx := errgroup.WithContext(ctx)
	for _, part := range []func() error{
		func() error { return l.read(ctx, bird) },
		func() error { return bird.run(ctx) },
	} {
		g.Go(func() error { return l.guard.do(partListener, part) })
	}
	g.Go(func() error {
		if sleep(ctx, l.tuning.RecycleAfter) {
			return errRecycled
		}
		return ctx.Err()
	})
	return g.Wait()
}

func (l *listener) read(ctx context.Context, bird *watchdog) error {
	defer l.show(false)
	stream, err := l.store.Watch(ctx, l.scan)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		snap, err := stream.Next()
		if err != nil {
			return err
		}
		if first {
			l.state.opened()
		}
		l.put(snap, first || snap.Opened, bird)
	}
}

func (l *listener) put(snap Snapshot, opened bool, bird *watchdog) {
	l.state.health.metrics.read(l.scan.Outbox, readByListener, len(snap.Changed))
	l.mu.Lock()
	for _, d := range snap.Changed {
		if d.Canary() {
			bird.seen(d.Nonce)
			if l.scan.Kind == ScanLane || d.ID == bird.canary.id {
				continue
			}
		}
		l.changed[d.ID] = d
	}
	// A window that fills hides what comes behind it, even if it was the canary
	// that filled it; one that is full no more completes the commit that its
	// edge cut through, even if nothing new is told.
	turned := (snap.Size >= l.scan.Limit) != (l.size >= l.scan.Limit)
	l.size = snap.Size
	// The first snapshot counts even if it is empty: from it on the listener
	// sees what comes.
	wake := turned || len(l.changed) > 0 || !l.told
	l.told, l.shows = true, true
	l.opened = l.opened || opened
	l.mu.Unlock()
	if wake {
		signal(l.ready)
	}
}
