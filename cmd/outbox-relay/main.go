// Command outbox-relay watches Firestore outboxes and delivers their records,
// by lane, to their targets. Run it with --help for its commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"outboxrelay/cmd/outbox-relay/terminal"
)

func main() {
	env := snapshot(os.Environ())
	if err := limitMemory(memlimit.FromCgroup); err != nil {
		fmt.Fprintln(os.Stderr, "outbox-relay: the container's memory limit cannot be told, set GOMEMLIMIT if there is one:", err)
	}
	// dial.go connects to the emulators by itself, with pings and a client for
	// each purpose. The libraries must not dial a second time behind its back.
	for _, name := range []string{envFirestoreHost, envPubSubHost, envAuthHost} {
		_ = os.Unsetenv(name) // fails only for an invalid name
	}
	ctx, stop := withSignals(context.Background(), os.Exit)
	code := run(ctx, os.Args[1:], env, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit codes, the same for every command.
const (
	exitOK      = 0
	exitFailed  = 1 // it could not do its work
	exitUsage   = 2 // the flags, the environment or the catalog are wrong
	exitRefused = 3 // append: a record breaks its contract
	exitBroken  = 4 // local --records: something was lost or out of order
)

// run is the whole program. It returns the exit code; ctx ending is the wish to
// stop.
func run(ctx context.Context, args []string, env lookup, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd, err := parse(args, env, stdout, stderr)
	if err == nil && cmd != nil {
		err = cmd.Run(ctx, process{env: env, stdin: stdin, stdout: stdout, stderr: stderr})
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "outbox-relay:", terminal.Lines(strings.TrimSpace(err.Error()))) // which may repeat what others wrote
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitFailed
}

// process is what a command has of the process that it runs in.
type process struct {
	env            lookup
	stdin          io.Reader
	stdout, stderr io.Writer
}

// lookup finds an environment variable.
type lookup func(name string) (string, bool)

// snapshot makes a lookup of "NAME=value" pairs.
func snapshot(environ []string) lookup {
	vars := make(map[string]string, len(environ))
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// get returns a variable's value, or "" when it is not set.
func (l lookup) get(name string) string {
	value, _ := l(name)
	return value
}

// exitError ends the program with a code other than exitFailed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}
