package workqueue

import (
	"runtime/debug"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// panicError is a panic as an error.
type panicError struct{ value any }

func (p *panicError) Error() string { return "panic: " + contracts.PanicText(p.value) }

// guard calls f and turns its panic into an error, logged and counted.
func (q *Queue) guard(part string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			q.metrics.panics.WithLabelValues(part).Inc()
			q.log.Error("panic", zap.String("part", part), zap.String("panic", contracts.PanicText(p)), zap.ByteString("stack", debug.Stack()))
			err = &panicError{p}
		}
	}()
	return f()
}
