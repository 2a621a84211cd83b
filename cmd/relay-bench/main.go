// Command relay-bench measures the relay against floors: the same clients doing
// nothing but listen, publish and mark, as fast as they can, and another that reads
// pages in place of listening.
//
//	relay-bench                       everything, on the embedded cloud
//	relay-bench -cloud google         on Google's emulators (Cloud SDK, Java 17)
//	relay-bench -only drain,flood     some of it
//	relay-bench -only drain -before OLD -rounds 5
//	                                  and against another build of the relay
//	relay-bench -only start -before OLD
//	                                  from a start to the first delivery, of both builds
//	relay-bench -only memory          the peak of drains of up to a million records
//	relay-bench -only soak            ten minutes at the highest rate that the machine holds
//	relay-bench -source postgres      the publisher of the outbox in Postgres, beside a floor and Watermill
//	relay-bench -short                a smoke run of about a minute; its figures mean little
//
// The cloud, the relay and the floors each run as a process of their own, so that
// the relay's CPU and memory are its own. Every measurement gets a fresh cloud.
// It needs /proc, so it runs on Linux, and the go command unless -relay names a
// built outbox-relay, or -publisher a built outbox-publisher; with -source postgres, an installed Postgres.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"outboxrelay/cmd/relay-bench/postgres"
	"outboxrelay/cmd/relay-bench/usage"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // a measurement could not be made
	exitUsage  = 2
	exitOver   = 3 // with -strict: an aim was missed
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program. ctx ending is the wish to stop.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == floorCommand {
		return report(stderr, runFloor(ctx, args[1:], stderr))
	}
	if len(args) > 0 && args[0] == postgres.Command {
		return report(stderr, postgres.RunSide(ctx, args[1:]))
	}
	opts, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return report(stderr, &usageError{err})
	}
	load := usage.LoadAverage() // of others: nothing of the bench's has run yet
	bench := benchFirestore
	if opts.source == sourcePostgres {
		bench = benchPostgres
	}
	missed, failed := bench(ctx, opts, stdout, stderr)
	fmt.Fprintln(stdout, machine(opts, load))
	if code := report(stderr, failed); code != exitOK {
		return code
	}
	if opts.strict && missed > 0 {
		return exitOver
	}
	return exitOK
}

// benchFirestore prints what was measured of the relay, and returns how many aims were missed.
func benchFirestore(ctx context.Context, opts options, stdout, progress io.Writer) (missed int, failed error) {
	b, err := newBench(ctx, opts, progress)
	if err != nil {
		return 0, err
	}
	failed = b.measure(ctx)
	return b.missed(), errors.Join(failed, b.print(stdout), b.close())
}

// benchPostgres does so of the publisher.
func benchPostgres(ctx context.Context, opts options, stdout, progress io.Writer) (missed int, failed error) {
	results, failed := postgres.Measure(ctx, postgres.Options{
		Scale: opts.postgres, Rounds: opts.rounds, Only: opts.only, Publisher: opts.publisher, Progress: progress,
	})
	return results.Missed(), errors.Join(failed, results.Print(stdout))
}

// machine tells what the figures were measured on. loadBefore is what others
// asked of it: latencies mean little where that is more than its cores.
func machine(opts options, loadBefore string) string {
	on := opts.cloud + " cloud"
	if opts.source == sourcePostgres {
		on = "Postgres and embedded Pub/Sub"
	}
	if opts.distance > 0 {
		on += fmt.Sprintf(", each call %v away", opts.distance)
	}
	return fmt.Sprintf("%s; %d cores, shared by it, side and bench; load average before: %s; %s, %s/%s",
		on, runtime.NumCPU(), loadBefore, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "relay-bench:", err)
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() + " (see relay-bench -help)" }
func (e *usageError) Unwrap() error { return e.err }
