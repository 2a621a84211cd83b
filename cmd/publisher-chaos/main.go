// Command publisher-chaos kills publishers, and restarts their Postgres, while rows are published, and
// counts what came of each row.
//
//	publisher-chaos          100,000 rows, four publishers, 100 of them killed, 20 restarts of Postgres
//	publisher-chaos -cloud google
//	                         on Google's Pub/Sub emulator (Cloud SDK, Java 17)
//	publisher-chaos -short   6,000 rows, 10 kills, 3 restarts, about 30 s
//
// Producers append events in transactions, some of which are rolled back, and try again under the same IDs after
// a restart. The publishers are processes that end with SIGKILL; Postgres is ended by SIGKILL
// and by its fast stop in turn. What arrives at a subscription is judged: every row that a producer
// committed, which is in the table, none that is not, the first deliveries of each aggregate in the order of the table, no attempt
// counted, and duplicates of the rows alone that a kill or a restart left without their mark.
//
// It exits with 1 when a promise was broken, and keeps the logs of such a run. It needs Unix, an installed
// Postgres, and the go command unless -publisher names a built outbox-publisher.
package main

import (
	"context"
	"errors"
	"io"
	"time"

	"outboxrelay/deploy/local/ordeal"
)

func main() { ordeal.Main(run) }

// run is the whole program. ctx ending is the wish to stop.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return ordeal.Run("publisher-chaos", args, parseOptions, func(opts options) (bool, error) { return chaos(ctx, opts, stdout, stderr) }, stderr)
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
