package firestore

import (
	"errors"
	"runtime"
)

// departure is how a handler went that did not return: by a panic, or by ending its goroutine.
// The client does not roll back a transaction that is left so, and it keeps its locks for
// minutes: the transaction is told an error first, and what happened is repeated behind it.
type departure struct {
	gone     bool
	panicked any   // nil: the goroutine was ended
	err      error // what it returned
}

var errGone = errors.New("the handler did not return")

// watch calls f on a goroutine of its own, as nothing else outlives the end of one.
func (d *departure) watch(f func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errGone
		d.gone = true
		defer func() {
			d.panicked = recover()
			done <- err
		}()
		err = f()
		d.err = err
		d.gone = false
	}()
	return <-done
}

// repeat does to the caller what f did.
func (d *departure) repeat() {
	switch {
	case !d.gone:
	case d.panicked != nil:
		panic(d.panicked)
	default:
		runtime.Goexit()
	}
}
