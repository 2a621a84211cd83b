package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"outboxrelay/cmd/relay-bench/floor"
	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/cmd/relay-bench/usage"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/child"
)

// The sides.
const (
	sideFloor  table.Side = "floor"  // listens, publishes and marks
	sidePolled table.Side = "polled" // a floor that reads pages in place of listening
	sideBefore table.Side = "before" // another build of the relay, where one is named
	sideRelay  table.Side = "relay"
)

// running is a side at work.
type running struct {
	*child.Process
	watcher *usage.Watcher
}

// spec is how a side is run on the stage.
func (b *bench) spec(s *stage, who table.Side) child.Spec {
	env := append(s.cloud.Env(), "GOOGLE_CLOUD_PROJECT="+project)
	spec := child.Spec{Name: string(who), Env: env}
	switch who {
	case sideFloor:
		spec.Path, spec.Args = b.ownPath, []string{floorCommand, "-catalog", b.catalogPath, "-window", strconv.Itoa(b.window)}
	case sidePolled:
		spec.Path, spec.Args = b.ownPath, []string{floorCommand, "-catalog", b.catalogPath, "-page", strconv.Itoa(b.opts.page)}
	case sideRelay, sideBefore:
		spec.Path, spec.Args = b.relayPath, []string{"serve", "--catalog", b.catalogPath}
		if who == sideBefore {
			spec.Path = b.opts.before
		}
		spec.Env = append(spec.Env, "HOST=127.0.0.1", "PORT=0")
	}
	return spec
}

// start runs a side on the stage, sampled from its first moment.
func (b *bench) start(s *stage, who table.Side) (*running, error) {
	c, err := child.Start(b.spec(s, who))
	if err != nil {
		return nil, err
	}
	return &running{Process: c, watcher: usage.Watch(c.PID())}, nil
}

// finish stops the side and returns what it used, up to the moment of the call.
func (r *running) finish() (usage.Timeline, error) {
	line := r.watcher.Timeline()
	return line, r.Stop()
}

// floorCommand is the hidden command under which the bench runs itself as a
// floor.
const floorCommand = "floor"

func runFloor(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet(floorCommand, flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("catalog", "", "catalog file")
	window := flags.Int("window", 0, "documents in a listener's window; 0: poll")
	page := flags.Int("page", 0, "documents of a polled page; 0: listen")
	once := flags.String("once", "", "outbox whose oldest CRITICAL record is relayed, and nothing else")
	if err := flags.Parse(args); err != nil {
		return &usageError{err}
	}
	catalog, err := contracts.LoadCatalog(*file)
	if err != nil {
		return fmt.Errorf("load catalog: %w", err)
	}
	project := os.Getenv("GOOGLE_CLOUD_PROJECT")
	if *once != "" {
		return floor.Once(ctx, floor.Config{Project: project, Catalog: catalog, Page: 1}, *once, contracts.CriticalLane)
	}
	return floor.Run(ctx, floor.Config{Project: project, Catalog: catalog, Window: *window, Page: *page})
}
