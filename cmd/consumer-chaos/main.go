// Command consumer-chaos kills relays and consumers while events are on their way, and
// counts what came of each event.
//
//	consumer-chaos                  10,000 events, 50 relays and 50 consumers killed
//	consumer-chaos -short           600 events, 3 of each killed, about 30 s
//	consumer-chaos -cloud google    on Google's emulators (Cloud SDK, Java 17), in four rounds
//
// Producers append the events of a catalog in transactions; relays deliver them; the
// consumers that the catalog names handle them behind an inbox. Relays and consumers are
// processes, and are ended with SIGKILL. The consumers are dealt to three ends, and each end has
// its own promise:
//
//	firestore   inbox and effect in one transaction of Firestore: exactly one effect
//	postgres    inbox and effect in one transaction of Postgres: exactly one effect
//	apart       the inbox in Redis, the effect a line of a file: at least one, and one
//	            more at most for each kill of a process that was handling the event
//
// Postgres is that of DATABASE_URL or one that is started where it is installed; without it
// its consumers go to Firestore. Where no redis-server is installed, the inbox of
// the end apart is in Firestore.
//
// It exits with 1 when a promise was broken, and keeps the logs of such a run. It needs
// Unix, and the go command unless -relay names a built outbox-relay.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitOK     = 0
	exitBroken = 1 // a promise was broken, or the run could not be made
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program, that of a consumer too. ctx ending is the wish to stop.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if task, ok := os.LookupEnv(taskVar); ok {
		if err := consume(ctx, task, stdout); err != nil {
			fmt.Fprintln(stderr, err)
			return exitBroken
		}
		return exitOK
	}
	opts, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "consumer-chaos: %v (see consumer-chaos -help)\n", err)
		return exitUsage
	}
	for i, round := range opts.dealt() {
		if opts.rounds > 1 {
			fmt.Fprintf(stdout, "round %d of %d\n", i+1, opts.rounds)
		}
		sound, err := chaos(ctx, round, stdout, stderr)
		if err != nil {
			fmt.Fprintln(stderr, "consumer-chaos:", err)
		}
		if err != nil || !sound {
			return exitBroken
		}
	}
	return exitOK
}

// chaos makes a run and prints what came of it. It reports whether every promise was kept.
func chaos(ctx context.Context, opts options, stdout, progress io.Writer) (sound bool, err error) {
	began := time.Now()
	s, err := openStage(ctx, opts, progress)
	if err != nil {
		return false, err
	}
	f, err := s.play(ctx)
	if err == nil {
		f.took = time.Since(began)
		sound = len(f.broken()) == 0
		err = f.print(stdout)
	}
	err = errors.Join(err, s.close())
	if !sound || err != nil || opts.keepLogs {
		fmt.Fprintf(progress, "the logs are in %s\n", s.dir)
		return sound, err
	}
	return sound, os.RemoveAll(s.dir)
}
