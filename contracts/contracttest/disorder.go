package contracttest

import (
	"context"
	"fmt"
	"slices"

	"outboxrelay/contracts"
)

// disorder wants the same effects in whatever order events come. The order of an
// aggregate is kept on the way, but for a dead letter: that one comes after its
// successors.
func disorder(events []*event) []Case {
	var cases []Case
	boxes := make(map[string]bool)
	for _, e := range named(events, true) {
		if boxes[e.outbox.Name] {
			continue
		}
		boxes[e.outbox.Name] = true
		mine := slices.DeleteFunc(named(events, true), func(o *event) bool { return o.outbox != e.outbox })
		inOrder := stories(mine)
		reversed := slices.Clone(inOrder)
		slices.Reverse(reversed)
		late := append(slices.Clone(inOrder[1:]), inOrder[0])
		for _, order := range []struct {
			name     string
			messages []*contracts.Message
		}{{"backwards", reversed}, {"the first at last", late}} {
			cases = append(cases, Case{"disorder/" + e.outbox.Name + "/" + order.name, func(ctx context.Context, fresh func() Consumer) error {
				c, turned := fresh(), fresh()
				if err := all(ctx, c, inOrder); err != nil {
					return fmt.Errorf("in order: %w", err)
				}
				if err := all(ctx, turned, order.messages); err != nil {
					return fmt.Errorf("%s: %w", order.name, err)
				}
				want, err := c.effects()
				if err != nil {
					return err
				}
				got, err := turned.effects()
				if err == nil && got != want {
					err = fmt.Errorf("the effects of %d events are %s when they come %s, want %s as in order", len(inOrder), got, order.name, want)
				}
				return err
			}})
		}
	}
	return cases
}

// stories are events of two aggregates of an outbox, in order, each type of event more
// than once.
func stories(events []*event) []*contracts.Message {
	var out []*contracts.Message
	version := int64(0)
	for range 2 {
		for _, e := range events {
			version++
			for _, aggregate := range []string{"aggregate", "another"} {
				out = append(out, e.sound(int(version)%e.examples(), version, aggregate))
			}
		}
	}
	return out
}
