// Command outbox-relay watches Firestore outboxes and delivers their records,
// by lane, to their targets. Run it with --help for its commands.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
)

func main() {
	env := shell.Snapshot(os.Environ())
	if err := program.LimitMemory(memlimit.FromCgroup); err != nil {
		fmt.Fprintln(os.Stderr, "outbox-relay: the container's memory limit cannot be told, set GOMEMLIMIT if there is one:", err)
	}
	// Package gcp connects to the emulators by itself, with pings and a client for
	// each purpose. The libraries must not dial a second time behind its back.
	for _, name := range []string{gcp.EnvFirestore, gcp.EnvPubSub, gcp.EnvAuth} {
		_ = os.Unsetenv(name) // fails only for an invalid name
	}
	ctx, stop := program.WithSignals(context.Background(), os.Exit)
	code := run(ctx, os.Args[1:], env, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program. It returns the exit code; ctx ending is the wish to
// stop.
func run(ctx context.Context, args []string, env shell.Lookup, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd, err := parse(args, env, stdout, stderr)
	if err == nil && cmd != nil {
		err = cmd.Run(ctx, shell.Process{Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr})
	}
	if err != nil {
		fmt.Fprintln(stderr, "outbox-relay:", terminal.Lines(strings.TrimSpace(err.Error()))) // which may repeat what others wrote
	}
	return shell.Code(err)
}
