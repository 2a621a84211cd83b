package localrun

import "context"

// part is something that runs beside others and is stopped by itself, so that
// the whole can be taken down in order.
type part struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
}

// startPart runs f until stop, or until it returns by itself. fail is called
// with its error when it ends with one.
func startPart(ctx context.Context, fail context.CancelCauseFunc, f func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &part{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer cancel()
		if err := f(ctx); err != nil {
			fail(err)
		}
	}()
	return p
}

// ended reports whether f has returned.
func (p *part) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends f's context and waits for f. A nil part is at rest already.
func (p *part) stop() {
	if p != nil {
		p.cancel()
		<-p.done
	}
}
