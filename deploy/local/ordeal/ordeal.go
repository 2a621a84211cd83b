// Package ordeal is what the programs have in common that break a running service and judge
// whether it kept its promises.
package ordeal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"outboxrelay/deploy/local/rig"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitBroken = 1 // a promise was broken, or the run could not be made
	ExitUsage  = 2
)

// Main ends the program with the code of run, whose ctx ends with the wish to stop.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run makes the run that args ask for, and returns its exit code. judge reports whether every
// promise was kept.
func Run[O any](name string, args []string, parse func(args []string, usage io.Writer) (O, error), judge func(O) (sound bool, err error), stderr io.Writer) int {
	opts, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return ExitOK
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v (see %s -help)\n", name, err, name)
		return ExitUsage
	}
	sound, err := judge(opts)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
	}
	if err != nil || !sound {
		return ExitBroken
	}
	return ExitOK
}

// Ended removes dir, with all that a run wrote, unless the run was not sound, failed, or is to be kept;
// then it says where that is. It returns what it was given, and why dir could not be removed.
func Ended(dir string, keep, sound bool, err error, progress io.Writer) (bool, error) {
	if !sound || err != nil || keep {
		fmt.Fprintf(progress, "the logs are in %s\n", dir)
		return sound, err
	}
	return sound, os.RemoveAll(dir)
}

// Parse reads a command line that has flags alone.
func Parse(flags *flag.FlagSet, args []string, usage io.Writer) error {
	flags.SetOutput(usage)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}

// CheckCloud says what is wrong with the value of -cloud.
func CheckCloud(cloud string) error {
	if cloud != rig.CloudEmbedded && cloud != rig.CloudGoogle {
		return fmt.Errorf("-cloud is %q, want %s or %s", cloud, rig.CloudEmbedded, rig.CloudGoogle)
	}
	return nil
}
