// Command outbox-publisher publishes the rows of a Postgres outbox, outbox_events, to a Pub/Sub
// topic. Run it with --help for its commands.
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

const name = "outbox-publisher"

func main() {
	env := shell.Snapshot(os.Environ())
	if err := program.LimitMemory(memlimit.FromCgroup); err != nil {
		fmt.Fprintln(os.Stderr, name+": the container's memory limit cannot be told, set GOMEMLIMIT if there is one:", err)
	}
	// The client is led to the emulator here, and must not dial by itself.
	_ = os.Unsetenv(gcp.EnvPubSub) // fails only for an invalid name
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
		fmt.Fprintln(stderr, name+":", terminal.Lines(strings.TrimSpace(err.Error()))) // which may repeat what others wrote
	}
	return shell.Code(err)
}
