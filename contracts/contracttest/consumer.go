package contracttest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"outboxrelay/contracts"
)

// patience is how long a consumer has for one message.
const patience = time.Minute

// Consumer is what is tested. Each case has a new one, without any history.
type Consumer struct {
	// Handle is given a message as it comes from a topic. nil means that it is
	// acknowledged, an error that it is to come again.
	Handle func(ctx context.Context, m *contracts.Message) error

	// Effects tells all that the consumer has done so far, as a value that
	// encoding/json writes: what it stored, or the list of what it sent. Two
	// consumers that did the same must tell the same, so leave out times and IDs
	// made by chance, and sort what has no order. It is called between messages.
	Effects func() any

	// Refused returns how many messages the consumer put aside for good so far, as
	// into a dead-letter queue, and then acknowledged. nil: it refuses by an error.
	Refused func() int
}

// effects is what the consumer tells, in a form that later effects do not change.
func (c Consumer) effects() (string, error) {
	text, err := json.Marshal(c.Effects())
	if err != nil {
		return "", fmt.Errorf("effects cannot be written as JSON: %w", err)
	}
	return string(text), nil
}

// deliver hands m over. A panic, and no answer in time, are errors.
func (c Consumer) deliver(ctx context.Context, m *contracts.Message) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				answer <- fmt.Errorf("panics: %v", p)
			}
		}()
		answer <- c.Handle(ctx, clone(m))
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("gives no answer within %v: %w", patience, ctx.Err())
	}
}

// accepts delivers m, which the consumer has to acknowledge.
func (c Consumer) accepts(ctx context.Context, m *contracts.Message) error {
	refused := c.refused()
	if err := c.deliver(ctx, m); err != nil {
		return fmt.Errorf("is not acknowledged: %w", err)
	}
	if c.refused() > refused {
		return fmt.Errorf("is put aside")
	}
	return nil
}

// refuses delivers m, which the consumer has to refuse without an effect.
func (c Consumer) refuses(ctx context.Context, m *contracts.Message) error {
	before, err := c.effects()
	if err != nil {
		return err
	}
	refused := c.refused()
	answer := c.deliver(ctx, m)
	after, err := c.effects()
	switch {
	case err != nil:
		return err
	case before != after:
		return fmt.Errorf("has an effect: %s, before it %s", after, before)
	case answer == nil && c.refused() == refused:
		return fmt.Errorf("is acknowledged as if it were sound, and nothing tells of it any more")
	}
	return nil
}

// ignores delivers m, which the consumer has to acknowledge without an effect.
func (c Consumer) ignores(ctx context.Context, m *contracts.Message) error {
	before, err := c.effects()
	if err != nil {
		return err
	}
	if err := c.accepts(ctx, m); err != nil {
		return err
	}
	after, err := c.effects()
	if err == nil && before != after {
		err = fmt.Errorf("has an effect: %s, before it %s", after, before)
	}
	return err
}

func (c Consumer) refused() int {
	if c.Refused == nil {
		return 0
	}
	return c.Refused()
}
