package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"outboxrelay/cmd/relay-bench/floor"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

// side is one of the two that are compared.
type side string

// The sides.
const (
	sideFloor side = "floor"
	sideRelay side = "relay"
)

// running is a side at work.
type running struct {
	*rig.Child
	sampler *sampler
}

// spec is how a side is run on the stage.
func (b *bench) spec(s *stage, who side) rig.Spec {
	env := append(s.cloud.Env(), "GOOGLE_CLOUD_PROJECT="+project)
	path, args := b.relayPath, []string{"serve", "--catalog", b.catalogPath}
	if who == sideFloor {
		path, args = b.ownPath, []string{floorCommand, "-catalog", b.catalogPath, "-window", strconv.Itoa(b.window)}
	} else {
		env = append(env, "HOST=127.0.0.1", "PORT=0")
	}
	return rig.Spec{Name: string(who), Path: path, Args: args, Env: env}
}

// start runs a side on the stage, sampled from its first moment.
func (b *bench) start(s *stage, who side) (*running, error) {
	c, err := rig.Start(b.spec(s, who))
	if err != nil {
		return nil, err
	}
	return &running{Child: c, sampler: startSampler(c.PID())}, nil
}

// finish stops the side and returns what it used, up to the moment of the call.
func (r *running) finish() (timeline, error) {
	line := r.sampler.timeline()
	return line, r.Stop()
}

// floorCommand is the hidden command under which the bench runs itself as the
// floor.
const floorCommand = "floor"

func runFloor(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet(floorCommand, flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("catalog", "", "catalog file")
	window := flags.Int("window", 0, "documents in a listener's window")
	if err := flags.Parse(args); err != nil {
		return &usageError{err}
	}
	catalog, err := contracts.LoadCatalog(*file)
	if err != nil {
		return fmt.Errorf("load catalog: %w", err)
	}
	return floor.Run(ctx, floor.Config{Project: os.Getenv("GOOGLE_CLOUD_PROJECT"), Catalog: catalog, Window: *window})
}
