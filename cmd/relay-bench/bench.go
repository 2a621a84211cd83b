package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

// bench is what all measurements share.
type bench struct {
	opts        options
	dir         string // temporary; removed by close
	ownPath     string // of this binary, which is the floors too
	relayPath   string
	catalogPath string
	catalog     *contracts.Catalog
	window      int // of the floor's listeners
	results     *table.Results
	soaked      *soakReport // nil: none was made
	progress    io.Writer
}

// handlerTopics stand in for handler targets, so that all sides do the same work.
var handlerTopics = map[string]string{"CLAIMS_HANDLER": "ier-claims-handler"}

// newBench builds what is measured. The caller calls close.
func newBench(ctx context.Context, opts options, progress io.Writer) (*bench, error) {
	b := &bench{opts: opts, window: opts.window, progress: progress}
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare bench: %w", err), b.close())
	}
	return b, nil
}

func (b *bench) prepare(ctx context.Context) error {
	var err error
	if b.dir, err = os.MkdirTemp("", "relay-bench-"); err != nil {
		return err
	}
	if b.ownPath, err = os.Executable(); err != nil {
		return err
	}
	if err := b.prepareCatalog(); err != nil {
		return err
	}
	b.relayPath, err = rig.Relay(ctx, b.opts.relay, b.dir, b.say)
	return err
}

// prepareCatalog writes the catalog that all sides read: the default one, with
// a topic for each handler.
func (b *bench) prepareCatalog() error {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		return err
	}
	if b.catalog, err = catalog.WithTopics(handlerTopics); err != nil {
		return err
	}
	b.results = table.New(figures(b.opts.scale, b.catalog), sideRelay, sideFloor, sidePolled, sideBefore, sideRelay)
	b.catalogPath, err = rig.WriteCatalog(b.catalog, b.dir)
	return err
}

func (b *bench) close() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir) //nolint:gosec // the directory that prepare made
}

// measure makes the wanted measurements, the sides in turn. One that fails
// does not keep the others from being made.
func (b *bench) measure(ctx context.Context) error {
	var failed error
	if b.opts.listens() {
		if err := b.chooseWindow(ctx); err != nil {
			return err
		}
	}
	for _, m := range measures() {
		if !b.opts.wants(m) {
			continue
		}
		rounds := b.opts.rounds
		if m.once {
			rounds = 1
		}
		for round := range rounds {
			for _, who := range inTurn(b.opts.sides(m), round) {
				if ctx.Err() != nil {
					return errors.Join(failed, ctx.Err())
				}
				failed = errors.Join(failed, b.measureOne(ctx, m, who, round))
			}
		}
	}
	return failed
}

// inTurn has another side begin each round: a machine that becomes slower as it is at
// work, as many rented ones do, would always be slow for the same one.
func inTurn(sides []table.Side, round int) []table.Side {
	first := round % max(len(sides), 1)
	return slices.Concat(sides[first:], sides[:first])
}

func (b *bench) measureOne(ctx context.Context, m measure, who table.Side, round int) error {
	began := time.Now()
	read, err := m.run(ctx, b, who)
	if err != nil {
		err = fmt.Errorf("measure %s of %s: %w", m.name, who, err)
		b.say("%v", err)
		return err
	}
	b.results.Add(who, round, read)
	b.say("%s, %s, round %d (%v): %s", m.name, who, round+1, time.Since(began).Round(time.Second), read)
	return nil
}

// floorWindows are tried for the floor's listeners. The better one is used, so
// that the floor is not made slow by a choice of ours.
var floorWindows = []int{200, 500}

func (b *bench) chooseWindow(ctx context.Context) error {
	if b.window > 0 {
		return nil
	}
	best := 0.0
	chosen := floorWindows[0]
	for _, b.window = range slices.Concat(floorWindows, floorWindows) {
		read, err := b.drainOnce(ctx, sideFloor, b.opts.scale.trial)
		if err != nil {
			return fmt.Errorf("try window %d of floor: %w", b.window, err)
		}
		b.say("trial of the floor's window, %d: %s", b.window, read)
		if rate := read[keyDrainRate]; rate > best {
			best, chosen = rate, b.window
		}
	}
	b.window = chosen
	return nil
}

// print writes the tables of what was measured.
func (b *bench) print(w io.Writer) error {
	var failed error
	if b.opts.compares() {
		failed = b.results.Print(w)
	}
	if b.soaked != nil {
		failed = errors.Join(failed, b.soaked.print(w))
	}
	return failed
}

// missed is how many aims were.
func (b *bench) missed() int {
	n := b.results.Missed()
	if b.soaked != nil {
		n += b.soaked.missed()
	}
	return n
}

// say reports progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, format+"\n", args...)
}
