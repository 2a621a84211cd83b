// Package postgres measures the publisher of the outbox in Postgres beside two others: a floor, which is
// the bare loop of claim, publish and mark with the same clients, and Watermill's forwarder.
//
// All share one Postgres, and have a database and a Pub/Sub of their own for each measurement. Their
// processes are their own, so that their CPU is. The floor and the publisher read the same
// table; Watermill reads that of its own, whose rows say the same.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/deploy/local/postgres"
	"outboxrelay/deploy/local/rig"
)

// The sides.
const (
	sideFloor     table.Side = "floor"
	sideWatermill table.Side = "watermill"
	sidePublisher table.Side = "publisher"
)

// sides are measured in this order, in turn.
var sides = []table.Side{sideFloor, sideWatermill, sidePublisher}

// Options are what is measured, and with what.
type Options struct {
	Scale     Scale
	Rounds    int      // how often the sides are measured in turn
	Only      []string // names of measurements; empty: all
	Publisher string   // path of a built outbox-publisher; "": one is built
	Progress  io.Writer
}

// Names are those of the measurements.
func Names() []string { return []string{"drain", "lead", "latency"} }

// wants tells whether a measurement is to be made.
func (o Options) wants(name string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, name) }

// bench is what all measurements share.
type bench struct {
	opts      Options
	dir       string // temporary; removed by close
	self      string // this binary, which is the other sides too
	publisher string
	server    *postgres.Server
	databases int // made so far
}

// Measure makes the measurements. What could be measured is returned beside an error.
func Measure(ctx context.Context, o Options) (*table.Results, error) {
	results := table.New(figures(o.Scale), sidePublisher, sides...)
	b := &bench{opts: o}
	err := b.prepare(ctx)
	if err == nil {
		err = b.measure(ctx, results)
	}
	if err = errors.Join(err, b.close()); err != nil {
		return results, fmt.Errorf("measure the outbox in Postgres: %w", err)
	}
	return results, nil
}

// settings keep what is committed over a crash of the server, and leave out the wait for the disk,
// which on a shared machine is another one each time.
var settings = []string{"fsync=off", "max_connections=200"}

func (b *bench) prepare(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "relay-bench-"); err != nil {
		return err
	}
	if err := os.Chmod(b.dir, 0o711); err != nil { // the user that Postgres runs as goes through it
		return err
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.publisher = b.opts.Publisher; b.publisher == "" {
		b.say("building the publisher")
		if b.publisher, err = rig.Build(ctx, b.dir, "outbox-publisher"); err != nil {
			return err
		}
	}
	b.server, err = postgres.Start(ctx, filepath.Join(b.dir, "pg"), settings...)
	return err
}

func (b *bench) close() error {
	if b.server != nil {
		b.server.Kill() // it is of no more use
	}
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}

// measurement is made for one side at a time.
type measurement struct {
	name string
	run  func(context.Context, table.Side) (table.Readings, error)
}

func (b *bench) measurements() []measurement {
	var all []measurement
	for _, n := range b.opts.Scale.Publishers {
		all = append(all, measurement{"drain", func(ctx context.Context, who table.Side) (table.Readings, error) { return b.drain(ctx, who, n) }})
	}
	all = append(all, measurement{"lead", b.lead}, measurement{"latency", b.latency})
	return slices.DeleteFunc(all, func(m measurement) bool { return !b.opts.wants(m.name) })
}

// measure makes them, the sides in turn. One that fails does not keep the others from being made.
func (b *bench) measure(ctx context.Context, results *table.Results) error {
	var failed error
	for _, m := range b.measurements() {
		for round := range b.opts.Rounds {
			for _, who := range sides {
				if ctx.Err() != nil {
					return errors.Join(failed, ctx.Err())
				}
				began := time.Now()
				read, err := m.run(ctx, who)
				if err != nil {
					err = fmt.Errorf("%s of %s: %w", m.name, who, err)
					b.say("%v", err)
					failed = errors.Join(failed, err)
					continue
				}
				results.Add(who, round, read)
				b.say("%s, %s, round %d (%v): %s", m.name, who, round+1, time.Since(began).Round(time.Second), read)
			}
		}
	}
	return failed
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.opts.Progress, format+"\n", args...)
}
