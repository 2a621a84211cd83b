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
// What tries the memory of an inbox are the events that came again, of which the report tells how many there were: a short
// run may have none. What tries its order are the consumers whose subscriptions have no message ordering, one of two of each
// end: an event that comes while one before it in its aggregate is claimed waits for that. On the others the effects of an
// aggregate come in order altogether.
//
// It exits with 1 when a promise was broken, and keeps the logs of such a run. It needs
// Unix, and the go command unless -relay names a built outbox-relay.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"outboxrelay/deploy/local/ordeal"
)

func main() { ordeal.Main(run) }

// run is the whole program, that of a consumer too. ctx ending is the wish to stop.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if task, ok := os.LookupEnv(taskVar); ok {
		if err := consume(ctx, task, stdout); err != nil {
			fmt.Fprintln(stderr, err)
			return ordeal.ExitBroken
		}
		return ordeal.ExitOK
	}
	return ordeal.Run("consumer-chaos", args, parseOptions, func(opts options) (bool, error) { return rounds(ctx, opts, stdout, stderr) }, stderr)
}

// rounds makes the runs, up to one that was not sound.
func rounds(ctx context.Context, opts options, stdout, progress io.Writer) (sound bool, err error) {
	for i, round := range opts.dealt() {
		if opts.rounds > 1 {
			fmt.Fprintf(stdout, "round %d of %d\n", i+1, opts.rounds)
		}
		if sound, err = chaos(ctx, round, stdout, progress); err != nil || !sound {
			break
		}
	}
	return sound, err
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
	return ordeal.Ended(s.dir, opts.keepLogs, sound, errors.Join(err, s.close()), progress)
}
