package inbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// limit bounds one call of a handler. Its time begins with the call: what the store needs
// before, a connection say, and after, a commit, is not the handler's to answer for.
type limit struct {
	timeout  time.Duration
	once     sync.Once
	begun    chan struct{} // closed with the call
	deadline time.Time     // to be read once begun is closed
	calls    atomic.Int64  // of the handler, which a transaction that is tried again calls again
	through  atomic.Bool   // the last of them returned, and not with an error
}

func newLimit(timeout time.Duration) *limit {
	return &limit{timeout: timeout, begun: make(chan struct{})}
}

var (
	errTooLate = errors.New("it is too late to call the handler")
	errShared  = errors.New("the handler's transaction was tried again until its time was over")
)

// call calls the handler h with a ctx that ends with its time, or says that it is not to be called any
// more. Where a transaction is tried again, all its calls have the time of one.
func (l *limit) call(ctx context.Context, h func(ctx context.Context) error) error {
	l.once.Do(func() {
		l.deadline = time.Now().Add(l.timeout)
		close(l.begun)
	})
	switch {
	case !l.called():
		return errTooLate
	case l.calls.Load() > 0 && l.over():
		return Passing(errShared)
	}
	l.through.Store(false)
	l.calls.Add(1)
	ctx, cancel := context.WithDeadline(ctx, l.deadline)
	defer cancel()
	err := sound(ctx, h)
	l.through.Store(err == nil)
	return err
}

// refuse has the handler not called any more, and reports false where it is called already.
func (l *limit) refuse() bool {
	l.once.Do(func() {})
	return !l.called()
}

func (l *limit) called() bool {
	select {
	case <-l.begun:
		return true
	default:
		return false
	}
}

// shared reports whether the handler had less than its time, as its transaction was tried again.
func (l *limit) shared() bool { return l.calls.Load() > 1 }

// over reports whether the handler's time is over.
func (l *limit) over() bool { return l.called() && !time.Now().Before(l.deadline) }
