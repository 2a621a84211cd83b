package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/child"
	"outboxrelay/deploy/local/rig"
)

const (
	// soakShare of the highest rate that is held is soaked at: close enough to
	// the bound for a leak to show, with room for the machine's other moods.
	soakShare = 0.8
	// soakSampleEvery is how often the relay is asked for its metrics, unless
	// the soak is so short that soakSamples would not fit.
	soakSampleEvery = 5 * time.Second
	soakSamples     = 12
	// soakSettle is the part of the load before the first sample, at most:
	// caches, pools and the heap find their size in it.
	soakSettle = 30 * time.Second
	// minSoak leaves some records of each lane between two samples.
	minSoak = 3 * time.Second
)

// measureSoak finds the highest steady rate that the machine holds, and then
// watches one relay, with its leases, at most of it. What it finds is printed in
// tables of its own: there is no floor to compare with.
func measureSoak(ctx context.Context, b *bench, _ table.Side) (table.Readings, error) {
	held, err := b.highestHeld(ctx)
	if err != nil {
		return nil, err
	}
	rate := int(soakShare * float64(held))
	b.say("soak: %d records/s are held; soaking at %d for %v", held, rate, b.opts.scale.soakFor)
	report := &soakReport{held: held, rate: rate, lasted: b.opts.scale.soakFor}
	err = b.onSoaking(ctx, func(ctx context.Context, k *soaking) error {
		var err error
		report.samples, report.deliveries, err = k.soak(ctx, rate, b.opts.scale.soakFor)
		return err
	})
	if err != nil {
		return nil, err
	}
	b.soaked = report
	return table.Readings{"held records/s": float64(held), "soaked records/s": float64(rate)}, nil
}

// soaking is a relay at work, and all that watches it.
type soaking struct {
	stage    *stage
	relay    *running
	metrics  string // URL
	consumer *consumer
	book     *book
	say      func(format string, args ...any)
	// appended is how many records the relay has been given.
	appended int
}

// onSoaking runs work beside a warm relay on a fresh cloud, whose messages are
// read until work ends.
func (b *bench) onSoaking(ctx context.Context, work func(context.Context, *soaking) error) error {
	_, err := b.onStage(ctx, func(s *stage) (_ table.Readings, err error) {
		k := &soaking{stage: s, book: newBook(), say: b.say}
		if k.consumer, err = s.subscribe(ctx, k.book, s.topicsOf(contracts.Lanes()...)); err != nil {
			return nil, err
		}
		logged := newServingLog()
		spec := b.spec(s, sideRelay)
		spec.Stderr = logged
		child, err := child.Start(spec)
		if err != nil {
			return nil, err
		}
		k.relay = &running{Process: child} // without a watcher: it tells by itself what it uses
		err = k.run(ctx, logged, b.opts.scale.warmup, work)
		if stopErr := child.Stop(); err == nil {
			err = stopErr
		}
		return nil, err
	})
	return err
}

func (k *soaking) run(ctx context.Context, logged *servingLog, warmup int, work func(context.Context, *soaking) error) error {
	addr, err := logged.await(ctx, k.relay.Process)
	if err != nil {
		return err
	}
	k.metrics = "http://" + addr + "/metrics"
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(consuming)
	g.Go(func() error { return k.consumer.run(ctx) }) // ends with stop
	g.Go(func() error {
		defer stop()
		if err := k.stage.appendBacklog(ctx, warmup, ""); err != nil {
			return err
		}
		k.appended = warmup
		if err := k.stage.awaitDelivered(ctx, k.relay, warmup); err != nil {
			return err
		}
		return work(ctx, k)
	})
	return g.Wait()
}

// soak appends at the rate and watches the relay meanwhile. The deliveries are
// those of all records, the samples begin when the load has settled. In the end
// every record must have been published and marked.
func (k *soaking) soak(ctx context.Context, rate int, lasting time.Duration) ([]soakSample, []delivery, error) {
	settle := min(soakSettle, lasting/5)
	every := min(soakSampleEvery, lasting/soakSamples)
	var samples []soakSample
	var deliveries []delivery
	g, work := errgroup.WithContext(ctx)
	g.Go(func() error {
		return k.stage.appendPaced(work, load{rate: rate, group: 1, book: k.book}, settle+lasting)
	})
	g.Go(func() error {
		began := time.Now().Add(settle)
		for i := range int(lasting/every) + 1 {
			if !rig.Sleep(work, time.Until(began.Add(time.Duration(i)*every))) {
				return work.Err()
			}
			sample, err := k.sample(work)
			if err != nil {
				return err
			}
			samples = append(samples, sample)
			deliveries = append(deliveries, k.book.harvest()...)
			if i%soakSamples == 0 {
				k.say("soak, %v: %v", (time.Duration(i) * every).Round(time.Second), sample)
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	if err := k.consumer.collectRest(ctx); err != nil {
		return nil, nil, err
	}
	deliveries = append(deliveries, k.book.harvest()...)
	k.appended += len(deliveries)
	return samples, deliveries, k.stage.awaitDelivered(ctx, k.relay, k.appended)
}

// collectRest waits until the running consumer has completed the book.
func (c *consumer) collectRest(ctx context.Context) error {
	progress, least := time.Now(), math.MaxInt
	for {
		missing := c.book.outstanding()
		switch {
		case missing == 0:
			return nil
		case missing < least:
			progress, least = time.Now(), missing
		case time.Since(progress) > stalled:
			return fmt.Errorf("collect messages: %d records lack some: %w", missing, errStalled)
		}
		if !rig.Sleep(ctx, countEvery) {
			return ctx.Err()
		}
	}
}

// soakReport is what a soak found.
type soakReport struct {
	held, rate int // records a second: the most that was held, and what was soaked at
	lasted     time.Duration
	samples    []soakSample // oldest first
	deliveries []delivery   // of all records, in no order
}

func (r *soakReport) print(w io.Writer) error {
	fmt.Fprintf(w, "soak: %d records/s (%.0f %% of the %d that are held) for %v, one relay with leases\n",
		r.rate, 100*soakShare, r.held, r.lasted)
	if err := printSoakRows(w, r.rows()); err != nil {
		return err
	}
	return printTrends(w, r.trends())
}

// missed is how many figures were not flat.
func (r *soakReport) missed() int {
	n := 0
	for _, t := range r.trends() {
		if !t.ok() {
			n++
		}
	}
	return n
}
