package firestoretest

import (
	"context"
	"testing"
)

// Late returns a context of the test whose deadline passes when over is called, once,
// however long what is done under it took until then.
func Late(t *testing.T) (ctx context.Context, over func()) {
	done := make(chan struct{})
	return late{t.Context(), done}, func() { close(done) }
}

type late struct {
	context.Context //nolint:containedctx // it is one

	over chan struct{}
}

func (l late) Done() <-chan struct{} { return l.over }

func (l late) Err() error {
	select {
	case <-l.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
