package sibling

import (
	"errors"
	"fmt"
	"runtime/debug"

	"outboxrelay/contracts"
)

// panicError is a fault of the program. Nothing waits it through.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string {
	return fmt.Sprintf("panic: %s\n%s", contracts.PanicText(p.value), p.stack)
}

// Panicked tells that it is a panic.
func (p *panicError) Panicked() bool { return true }

// Guarded turns a panic of f into its error.
func Guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return f()
}

// Panicked reports whether err is, or holds, a panic: of Guarded, or of anything
// whose error says so.
func Panicked(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Panicked() bool
	}](err)
	return ok && p.Panicked()
}
