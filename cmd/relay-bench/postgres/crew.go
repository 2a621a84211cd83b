package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"outboxrelay/cmd/relay-bench/usage"
	"outboxrelay/deploy/local/child"
)

// member is a process of a side at work.
type member struct {
	*child.Process
	watcher *usage.Watcher
}

// crew are the processes of a side.
type crew []member

// start runs so many processes of the side.
func (s *stage) start(processes int) (crew, error) {
	var c crew
	for range processes {
		p, err := child.Start(s.spec())
		if err != nil {
			return nil, c.stop(err)
		}
		c = append(c, member{p, usage.Watch(p.PID())})
	}
	return c, nil
}

// spec is how the side is run.
func (s *stage) spec() child.Spec {
	spec := child.Spec{Name: string(s.who), Path: s.bench.self, Args: []string{Command, string(s.who)}}
	if s.who == sidePublisher {
		spec.Path, spec.Args = s.bench.publisher, []string{"run"}
	}
	spec.Env = []string{
		"DATABASE_URL=" + s.url, "GOOGLE_CLOUD_PROJECT=" + project, "PUBSUB_EMULATOR_HOST=" + s.addr, "HOST=127.0.0.1", "PORT=0",
		fmt.Sprintf("PACKFINDERZ_OUTBOX_PUBLISH_BATCH_SIZE=%d", batch),
	}
	return spec
}

// ended is why a process has, and nil while all run.
func (c crew) ended() error {
	for _, m := range c {
		if err := m.Ended(); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the processes after err, which it returns with what went wrong meanwhile.
func (c crew) stop(err error) error {
	errs := []error{err}
	for _, m := range c {
		m.watcher.Timeline()
		errs = append(errs, m.Stop())
	}
	return errors.Join(errs...)
}

// spent is what the processes used over time.
type spent []usage.Timeline

// perRecord is the CPU of all processes for each event between the first and the last, in µs.
func (s spent) perRecord(t tally) float64 {
	var cpu time.Duration
	for _, line := range s {
		cpu += line.CPUAt(t.last()) - line.CPUAt(t.first())
	}
	return float64(cpu.Microseconds()) / float64(len(t.firsts))
}

// finished waits until n events have arrived, and ends the processes.
func (s *stage) finished(ctx context.Context, c crew, n int) (tally, spent, error) {
	if err := s.await(ctx, c, n); err != nil {
		return tally{}, nil, c.stop(err)
	}
	var used spent
	for _, m := range c {
		used = append(used, m.watcher.Timeline())
	}
	if err := c.stop(nil); err != nil {
		return tally{}, nil, err
	}
	return s.got.tally(), used, nil
}

const (
	lookEvery = 20 * time.Millisecond
	// stuckAfter is far beyond what any side takes for its next event.
	stuckAfter = 2 * time.Minute
)

// await waits until n events have arrived.
func (s *stage) await(ctx context.Context, c crew, n int) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	before, moved := 0, time.Now()
	for {
		got, err := s.got.count()
		if err = errors.Join(err, c.ended()); err != nil || got >= n {
			return err
		}
		if got > before {
			before, moved = got, time.Now()
		}
		if time.Since(moved) > stuckAfter {
			return fmt.Errorf("%d of %d events have arrived, and none for %v", got, n, stuckAfter)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
