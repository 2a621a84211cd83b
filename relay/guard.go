package relay

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Parts of the relay that a fault of the program may end and that go on after it,
// as metric labels.
const (
	partDecode   = "decode" // of one record, which breaks the contract then
	partReader   = "reader"
	partDrain    = "drain"
	partListener = "listener"
	partStrays   = "strays"
	partSweep    = "sweep"
	partProof    = "proof"
	partThaw     = "thaw"
	partSettler  = "settler"
	partShed     = "shed"    // of one record that leaves its lane
	partSibling  = "sibling" // which stops the relay
)

func guardedParts() []string {
	return []string{partDecode, partReader, partDrain, partListener, partStrays, partSweep, partProof, partThaw, partSettler, partShed, partSibling}
}

// guard keeps a panic from ending more than what it was in. It logs and counts
// it.
type guard struct {
	log    *zap.Logger
	panics *prometheus.CounterVec // part
}

// panicError is a panic as an error, which is logged.
type panicError struct{ value any }

func (p *panicError) Error() string { return "panic: " + contracts.PanicText(p.value) }

// panicked reports whether err is, or holds, a panic.
func panicked(err error) bool {
	_, ok := errors.AsType[*panicError](err)
	return ok
}

// do calls f and turns its panic into an error.
func (g guard) do(part string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g.panics.WithLabelValues(part).Inc()
			g.log.Error("panic", zap.String("part", part), zap.String("panic", contracts.PanicText(p)), zap.ByteString("stack", debug.Stack()))
			err = &panicError{p}
		}
	}()
	return f()
}

// keep calls f until ctx ends, again after a while whenever it panics. A return
// of f is the end.
func (g guard) keep(ctx context.Context, part string, delay *retryDelay, f func(context.Context)) {
	for ctx.Err() == nil && g.do(part, func() error { f(ctx); return nil }) != nil {
		delay.sleep(ctx)
	}
}
