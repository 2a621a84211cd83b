package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"outboxrelay/deploy/local/rig"
)

const (
	// Between two faults the relays get over the first one. A few times the
	// second begins meanwhile.
	shareTogether = 0.2
	pauseAtMost   = 700 * time.Millisecond // random, on top of the recovery
	holdLeast     = 500 * time.Millisecond
	holdMost      = 3 * time.Second
	// recoverWithin bounds the wait for a delivery of every outbox after a fault:
	// several terms of a lease and every backoff. None by then is a violation.
	recoverWithin = 2 * time.Minute
)

// episode is one fault as it went.
type episode struct {
	number   int // from 1; 0: the start
	kind     string
	began    time.Time
	from     time.Time                // see kind.act
	ended    time.Time                // when it was undone
	recovery map[string]time.Duration // from `from` to the next delivery, by outbox; nil: another fault came in between
	stuck    []string                 // outboxes that delivered nothing within recoverWithin
}

// planned is one fault as it was drawn.
type planned struct {
	kind     kind
	draw     draw
	pause    time.Duration // before it
	together bool          // it begins before the relays got over the one before
}

// plan draws the faults: each kind once in a random order, and again, so that
// none is left out.
func plan(o options, ks []kind) []planned {
	r := rand.New(rand.NewPCG(o.seed, 0))
	var bag []kind
	out := make([]planned, o.faults)
	for i := range out {
		if len(bag) == 0 {
			for _, k := range r.Perm(len(ks)) {
				bag = append(bag, ks[k])
			}
		}
		dice := r.Uint64()
		chance := rand.New(rand.NewPCG(dice, 0))
		d := draw{
			victim: r.IntN(1 << 20), hold: holdLeast + time.Duration(r.Int64N(int64(holdMost-holdLeast))),
			part: []part{partFirestore, partPubSub}[r.IntN(2)], stream: []string{"upstream", "downstream"}[r.IntN(2)],
			dice: dice, lease: max(o.leaseTerm, holdMost), random: chance.Float64,
		}
		out[i] = planned{kind: bag[0], draw: d, pause: time.Duration(r.Int64N(int64(pauseAtMost))), together: i > 0 && r.Float64() < shareTogether}
		bag = bag[1:]
	}
	return out
}

// campaign makes the faults of a plan, one after the other, and now and then
// two together.
type campaign struct {
	stage    *stage
	mu       sync.Mutex
	episodes []*episode
}

// run makes the faults. It returns when all are undone and every outbox has
// delivered again, or has had its time.
func (c *campaign) run(ctx context.Context, plans []planned) error {
	for i := 0; i < len(plans) && ctx.Err() == nil; {
		n := 1
		if i+1 < len(plans) && plans[i+1].together {
			n = 2
		}
		if err := c.make(ctx, plans[i:i+n], i); err != nil {
			return err
		}
		i += n
	}
	return ctx.Err()
}

// make makes faults that go on at the same time, and waits until they are got
// over.
func (c *campaign) make(ctx context.Context, plans []planned, first int) error {
	var wg sync.WaitGroup
	errs := make([]error, len(plans))
	for i, p := range plans {
		rig.Sleep(ctx, p.pause)
		e := c.begin(p.kind.name, first+i+1)
		wg.Go(func() {
			from, err := p.kind.act(ctx, c.stage, p.draw)
			e.from, e.ended = from, time.Now()
			if err != nil && ctx.Err() == nil {
				errs[i] = fmt.Errorf("make fault %d, %s: %w", e.number, e.kind, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || ctx.Err() != nil {
		return err
	}
	c.mu.Lock()
	latest := c.episodes[len(c.episodes)-len(plans):]
	c.mu.Unlock()
	from := latest[0].from
	for _, e := range latest {
		if e.from.After(from) {
			from = e.from
		}
	}
	recovery := c.stage.awaitRecovery(ctx, from)
	for outbox, took := range recovery {
		if took >= recoverWithin {
			latest[0].stuck = append(latest[0].stuck, outbox)
		}
	}
	if len(plans) == 1 {
		latest[0].recovery = recovery
	}
	for _, e := range latest {
		c.stage.say("fault %d of %d, %s: %s", e.number, c.stage.opts.faults, e.kind, recoveryText(recovery))
	}
	return nil
}

// kindStart is the start of a run, as if it were a fault: the emulators' Java
// starts slow, and calls to it may fail.
const kindStart = "start"

func (c *campaign) begin(kind string, number int) *episode {
	e := &episode{number: number, kind: kind, began: time.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.episodes = append(c.episodes, e)
	return e
}

func recoveryText(recovery map[string]time.Duration) string {
	worst, slowest := time.Duration(0), ""
	for outbox, d := range recovery {
		if d >= worst {
			worst, slowest = d, outbox
		}
	}
	return fmt.Sprintf("every outbox delivers again after %v (%s)", worst.Round(10*time.Millisecond), slowest)
}

// awaitRecovery waits for a delivery of each outbox after from and returns how
// long each took; one that had none in time is there with that time.
func (s *stage) awaitRecovery(ctx context.Context, from time.Time) map[string]time.Duration {
	return s.awaitRecoveryWithin(ctx, from, recoverWithin)
}

func (s *stage) awaitRecoveryWithin(ctx context.Context, from time.Time, within time.Duration) map[string]time.Duration {
	took := map[string]time.Duration{}
	for len(took) < len(s.catalog.Outboxes) {
		for _, o := range s.catalog.Outboxes {
			if _, done := took[o.Name]; done {
				continue
			}
			switch first, ok := s.broker.firstSince(o.Name, from); {
			case ok:
				took[o.Name] = first.Sub(from)
			case time.Since(from) > within:
				took[o.Name] = within
			}
		}
		if !rig.Sleep(ctx, 20*time.Millisecond) {
			break
		}
	}
	return took
}
