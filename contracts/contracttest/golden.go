package contracttest

import (
	"context"
	"errors"
	"fmt"
)

// golden wants each event acknowledged, and an effect of some.
func golden(events []*event) []Case {
	var cases []Case
	mine := named(events, true)
	for _, e := range mine {
		for i := range e.examples() {
			cases = append(cases, Case{fmt.Sprintf("golden/%s/%d", e.name(), i+1), func(ctx context.Context, fresh func() Consumer) error {
				if err := fresh().accepts(ctx, e.sound(i, 1, "aggregate")); err != nil {
					return fmt.Errorf("a sound event %w", err)
				}
				return nil
			}})
		}
	}
	return append(cases, Case{"golden/effects", func(ctx context.Context, fresh func() Consumer) error {
		c := fresh()
		before, err := c.effects()
		if err != nil {
			return err
		}
		for n, e := range mine {
			for i := range e.examples() {
				_ = c.deliver(ctx, e.sound(i, int64(1+n*maxExamples+i), "aggregate")) // the cases before tell of it
			}
		}
		after, err := c.effects()
		if err == nil && before == after {
			err = errors.New("no event changes what Effects tells: then nothing else can be told either")
		}
		return err
	}})
}

// maxExamples keeps the versions of one event's examples apart from the next one's.
const maxExamples = 1000

// others wants events that do not name the consumer to pass without an effect: they
// come by the same topic.
func others(events []*event) []Case {
	var cases []Case
	for _, e := range named(events, false) {
		for i := range e.examples() {
			cases = append(cases, Case{fmt.Sprintf("others/%s/%d", e.name(), i+1), func(ctx context.Context, fresh func() Consumer) error {
				if err := fresh().ignores(ctx, e.sound(i, 1, "aggregate")); err != nil {
					return fmt.Errorf("an event that does not name the consumer %w", err)
				}
				return nil
			}})
		}
	}
	return cases
}
