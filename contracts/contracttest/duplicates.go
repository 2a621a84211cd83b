package contracttest

import (
	"context"
	"fmt"
	"sync"

	"outboxrelay/contracts"
)

// duplicates wants an event that comes again, or several times at once, or as the
// replay of a dead letter, to have the effect of one.
func duplicates(events []*event) []Case {
	var cases []Case
	for _, e := range named(events, true) {
		m := e.sound(0, 1, "aggregate")
		cases = append(cases, Case{"duplicates/" + e.name() + "/again", func(ctx context.Context, fresh func() Consumer) error {
			c := fresh()
			want, err := after(ctx, c, m)
			if err != nil {
				return err
			}
			replay := clone(m)
			replay.Attributes[contracts.AttrReplay] = "dead-letter"
			for _, again := range []*contracts.Message{m, m, replay} {
				got, err := after(ctx, c, again)
				switch {
				case err != nil:
					return fmt.Errorf("when it comes again: %w", err)
				case got != want:
					return fmt.Errorf("when it comes again its effects are %s, want %s as after the first", got, want)
				}
			}
			return nil
		}}, Case{"duplicates/" + e.name() + "/at once", func(ctx context.Context, fresh func() Consumer) error {
			want, err := after(ctx, fresh(), m)
			if err != nil {
				return err
			}
			c := fresh()
			if err := atOnce(ctx, c, m); err != nil {
				return err
			}
			got, err := c.effects()
			if err == nil && got != want {
				err = fmt.Errorf("when it comes %d times at once its effects are %s, want %s as of one", together, got, want)
			}
			return err
		}})
	}
	return cases
}

// together is how many times an event comes at once.
const together = 4

// atOnce delivers m several times at the same time, and what was refused again: a
// consumer may refuse a message while it handles the same.
func atOnce(ctx context.Context, c Consumer, m *contracts.Message) error {
	errs := make([]error, together)
	var wg sync.WaitGroup
	for i := range together {
		wg.Go(func() { errs[i] = c.deliver(ctx, m) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			if err = c.deliver(ctx, m); err != nil {
				return fmt.Errorf("after it came %d times at once, it is not acknowledged: %w", together, err)
			}
		}
	}
	return nil
}

// after delivers m and returns the effects then.
func after(ctx context.Context, c Consumer, m *contracts.Message) (string, error) {
	if err := c.accepts(ctx, m); err != nil {
		return "", fmt.Errorf("a sound event %w", err)
	}
	return c.effects()
}

// all delivers messages in order, and those that are refused again after the others,
// as long as that helps.
func all(ctx context.Context, c Consumer, messages []*contracts.Message) error {
	for len(messages) > 0 {
		var again []*contracts.Message
		var errs []error
		for _, m := range messages {
			if err := c.accepts(ctx, m); err != nil {
				again, errs = append(again, m), append(errs, err)
			}
		}
		if len(again) == len(messages) {
			return fmt.Errorf("%d events are left, of which the first %w", len(again), errs[0])
		}
		messages = again
	}
	return nil
}
