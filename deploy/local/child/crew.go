package child

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
)

// Crew is processes of one kind, each of which may be killed and has a successor. Safe for
// concurrent use. Its owner calls Stop.
type Crew struct {
	start func(ctx context.Context, number int) (*Process, error)

	mu      sync.Mutex
	started int
	live    []*Process
	kills   int
}

// NewCrew makes one without members. start starts the member with a number, from 1 on, and returns once it works.
func NewCrew(start func(ctx context.Context, number int) (*Process, error)) *Crew {
	return &Crew{start: start}
}

// Grow starts so many more.
func (c *Crew) Grow(ctx context.Context, n int) error {
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

// Kill ends one as a crash does, and starts its successor.
func (c *Crew) Kill(ctx context.Context) error {
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
	return c.Grow(ctx, 1)
}

// Killed is how many were.
func (c *Crew) Killed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kills
}

// Ended is why some ended that nobody killed.
func (c *Crew) Ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, child := range c.live {
		errs = append(errs, child.Ended())
	}
	return errors.Join(errs...)
}

// Stop ends all as a platform does.
func (c *Crew) Stop() error {
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
