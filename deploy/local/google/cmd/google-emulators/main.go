// Command google-emulators starts Google's Firestore, Pub/Sub and Auth emulators.
//
//	google-emulators                  prints how to reach them and serves until a signal
//	google-emulators -- CMD ARGS...   runs CMD with them, stops them, and exits with CMD's code
//
// CMD sees OUTBOX_RELAY_GOOGLE_FIRESTORE, OUTBOX_RELAY_GOOGLE_PUBSUB and
// OUTBOX_RELAY_GOOGLE_AUTH, which tests and benches read. With -client-env it also
// sees the variables that Google's clients obey; without, they are taken out of its
// environment. Where firebase-tools is not installed it says so and does without Auth.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Exit codes. A command that ran passes its own.
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr}, startOnGoogle)
	stop()
	os.Exit(code)
}

// streams are where run and the command that it runs write.
type streams struct {
	out, err io.Writer
}

// options are the command line.
type options struct {
	clientEnv bool
	verbose   bool
	command   []string // empty: serve
}

func parse(args []string, usage io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("google-emulators", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.BoolVar(&opts.clientEnv, "client-env", false, "also give CMD the variables that Google's clients obey")
	flags.BoolVar(&opts.verbose, "v", false, "show what the emulators print")
	flags.Usage = func() {
		fmt.Fprintln(usage, "usage: google-emulators [-v] [-client-env] [-- CMD ARGS...]")
		flags.PrintDefaults()
	}
	err := flags.Parse(args)
	opts.command = flags.Args()
	return opts, err
}

// starter starts the emulators; what they print goes to log, nil drops it.
type starter func(ctx context.Context, log io.Writer) (*suite, error)

// run does what args say until ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, to streams, start starter) int {
	opts, err := parse(args, to.err)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage // the flag set has said why
	}
	var log io.Writer
	if opts.verbose {
		log = to.err
	}
	started, err := start(ctx, log)
	if err != nil {
		fmt.Fprintln(to.err, "google-emulators:", err)
		return exitFail
	}
	if started.missing != nil {
		fmt.Fprintln(to.err, "google-emulators: without the Auth emulator:", started.missing)
	}
	code, err := use(ctx, started, opts, to)
	if err := errors.Join(err, started.stop()); err != nil {
		fmt.Fprintln(to.err, "google-emulators:", err)
		return max(code, exitFail)
	}
	return code
}

// use serves, or runs the command, while all emulators live.
func use(ctx context.Context, started *suite, opts options, to streams) (int, error) {
	ctx, cancel := started.bind(ctx)
	defer cancel()
	if len(opts.command) > 0 {
		code, err := runCommand(ctx, opts.command, environment(os.Environ(), started, opts.clientEnv), to)
		return code, errors.Join(err, started.failed())
	}
	for _, v := range slices.Concat(started.testVars(), started.clientVars()) {
		fmt.Fprintln(to.out, "export", v)
	}
	<-ctx.Done()
	return exitOK, started.failed()
}
