package inbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// limit bounds one call of a handler. Its time begins with the call: what the store needs
// before, a connection say, is not the handler's to answer for.
type limit struct {
	timeout  time.Duration
	once     sync.Once
	begun    chan struct{} // closed with the call
	deadline time.Time     // to be read once begun is closed
}

func newLimit(timeout time.Duration) *limit {
	return &limit{timeout: timeout, begun: make(chan struct{})}
}

var errTooLate = errors.New("it is too late to call the handler")

// begin makes the ctx of the handler, or says that it is not to be called any more. Where a
// transaction is tried again, all its calls have the time of one.
func (l *limit) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	l.once.Do(func() {
		l.deadline = time.Now().Add(l.timeout)
		close(l.begun)
	})
	if !l.called() {
		return nil, nil, errTooLate
	}
	ctx, cancel := context.WithDeadline(ctx, l.deadline)
	return ctx, cancel, nil
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

// over reports whether the handler's time is over.
func (l *limit) over() bool { return l.called() && !time.Now().Before(l.deadline) }
