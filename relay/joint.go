package relay

import (
	"context"
	"sync/atomic"
)

// joint has callers that ask for the same at the same time share one look at it, which
// begins after all of them asked.
type joint struct {
	begun, done atomic.Int64  // looks; done is the last that succeeded
	turn        chan struct{} // holds a token of who looks
}

func newJoint() *joint { return &joint{turn: make(chan struct{}, 1)} }

// do returns once a look that began after it was called succeeded, by this caller or
// by another; or with ctx, or when the caller's own has failed. look reports whether it
// succeeded.
func (j *joint) do(ctx context.Context, look func() bool) {
	next := j.begun.Load() + 1
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return
	}
	if j.done.Load() >= next {
		return
	}
	if n := j.begun.Add(1); look() {
		j.done.Store(n)
	}
}
