package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"outboxrelay/deploy/local/child"
)

// crew is processes of one kind, each of which may be killed and has a successor. Safe for
// concurrent use.
type crew struct {
	start func(ctx context.Context, number int) (*child.Process, error) // returns once the process works

	mu      sync.Mutex
	started int
	live    []*child.Process
	kills   int
}

// grow starts so many more.
func (c *crew) grow(ctx context.Context, n int) error {
	for range n {
		c.mu.Lock()
		c.started++
		number := c.started
		c.mu.Unlock()
		child, err := c.start(ctx, number)
		if child != nil {
			c.mu.Lock()
			c.live = append(c.live, child)
			c.mu.Unlock()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kill ends one as a crash does, and starts its successor.
func (c *crew) kill(ctx context.Context) error {
	c.mu.Lock()
	at := rand.IntN(len(c.live))
	victim := c.live[at]
	c.live = slices.Delete(c.live, at, at+1)
	c.kills++
	c.mu.Unlock()
	if err := victim.Ended(); err != nil {
		return err
	}
	victim.Kill()
	return c.grow(ctx, 1)
}

// killed is how many were.
func (c *crew) killed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kills
}

// ended is why some ended that nobody killed.
func (c *crew) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, child := range c.live {
		errs = append(errs, child.Ended())
	}
	return errors.Join(errs...)
}

// stop ends all as a platform does.
func (c *crew) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := make([]error, len(c.live))
	var wg sync.WaitGroup
	for i, child := range c.live {
		wg.Go(func() { errs[i] = child.Stop() })
	}
	wg.Wait()
	c.live = nil
	return errors.Join(errs...)
}
