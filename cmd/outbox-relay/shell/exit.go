package shell

import (
	"errors"
	"fmt"
)

// Exit codes, the same for every command.
const (
	ExitOK         = 0
	ExitFailed     = 1   // it could not do its work
	ExitUsage      = 2   // the flags, the environment or the catalog are wrong
	ExitRefused    = 3   // append: a record breaks its contract, or has another's key; catalog diff: a change does
	ExitBroken     = 4   // local --records: something was lost or out of order
	ExitConflict   = 5   // dlq and lanes: it is not in that state; restore: a relay runs
	ExitNotFound   = 6   // dlq and lanes
	ExitNotAllowed = 7   // dlq and lanes: no valid token, or not the role
	ExitNotAll     = 8   // dlq: a bulk replay, or one that was waited for, did not deliver everything
	ExitHeed       = 9   // doctor --strict: nothing failed, and something is to be heeded
	ExitGoesOn     = 10  // dlq: the replay that was waited for goes on, and its end was not seen
	ExitStopped    = 130 // local --records: a signal came before the end; 130 as shells have it for Ctrl-C
)

type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// Exit is err as one that ends the program with a code.
func Exit(code int, err error) error { return &exitError{code, err} }

// Usagef makes an error that its reader mends, in the flags, the environment or
// the catalog. It takes %w.
func Usagef(format string, args ...any) error {
	return Exit(ExitUsage, fmt.Errorf(format, args...))
}

// Code is the exit code of what a command returned: ExitFailed for an error that
// Exit has not made.
func Code(err error) int {
	if err == nil {
		return ExitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return ExitFailed
}
