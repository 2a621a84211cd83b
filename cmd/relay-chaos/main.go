// Command relay-chaos breaks a running service at random points and judges
// whether it kept its promise.
//
//	relay-chaos                   100 faults on the embedded cloud
//	relay-chaos -short            10 faults, about 45 s
//	relay-chaos -cloud google     on Google's emulators (Cloud SDK, Java 17)
//	relay-chaos -seed 7           the faults, records and decisions of an earlier run
//	relay-chaos -relay PATH       another build of the relay, such as one that is broken on purpose
//
// The cloud and the relays each run as a process of their own, each relay behind
// TCP proxies of its own. Producers append in transactions all the time, also
// records that are to be refused; consumers record what arrives; an operator
// decides on dead letters. When all faults are undone and all is quiet, every
// record is held against what the service promises. A seed draws the same
// faults, records and decisions again. The moments at which they fall are the
// machine's.
//
// It exits with 1 when a promise was broken, and keeps the relays' logs and the
// report of such a run. It needs signals to stop and go on, so it runs on Unix,
// and the go command unless -relay names a built outbox-relay.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"outboxrelay/deploy/local/ordeal"
)

func main() { ordeal.Main(run) }

// run is the whole program. ctx ending is the wish to stop.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return ordeal.Run("relay-chaos", args, parseOptions, func(opts options) (bool, error) {
		fmt.Fprintf(stderr, "seed %d; to make this run again: %s\n", opts.seed, opts.command())
		return chaos(ctx, opts, stdout, stderr)
	}, stderr)
}

// chaos makes a run and prints what came of it. It reports whether every
// guarantee was kept.
func chaos(ctx context.Context, opts options, stdout, progress io.Writer) (sound bool, err error) {
	ks, err := kindsOf(opts)
	if err != nil {
		return false, err
	}
	began := time.Now()
	s, err := openStage(ctx, opts, progress)
	if err != nil {
		return false, err
	}
	e, j, err := s.play(ctx, plan(opts, ks))
	err = errors.Join(err, s.close())
	if e != nil {
		var report bytes.Buffer
		printReport(&report, s, e, j, time.Since(began))
		_, printErr := stdout.Write(report.Bytes())
		err = errors.Join(err, printErr, os.WriteFile(filepath.Join(s.dir, "report.txt"), report.Bytes(), 0o600))
		sound = j.sound()
	}
	return ordeal.Ended(s.dir, opts.keepLogs, sound, err, progress)
}
