package dlq

import (
	"fmt"
	"runtime/debug"

	"outboxrelay/contracts"
)

// panicError is a fault of the program. Whoever waits failures through knows it by
// its method, and does not wait.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string {
	return fmt.Sprintf("panic: %s\n%s", contracts.PanicText(p.value), p.stack)
}

// Panicked tells that it is a panic.
func (p *panicError) Panicked() bool { return true }

// guarded turns a panic of f into its error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return f()
}
