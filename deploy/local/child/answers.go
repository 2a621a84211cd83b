package child

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	answersWithin = time.Minute
	askEvery      = 25 * time.Millisecond
)

// Answers waits until ask, of which each call gets a ctx of its own, returns nil. An error says
// that the child ended, that ctx did, or that it took more than a minute, and what ask said last.
func (c *Process) Answers(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answersWithin, fmt.Errorf("%s does not answer within %v", c.name, answersWithin))
	defer cancel()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-c.exited:
			return c.Ended()
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-again.C:
		}
	}
}
