package contracttest

import (
	"context"
	"fmt"
	"strconv"

	"outboxrelay/contracts"
)

// versions wants a version refused that the catalog does not have, and the payload of
// one version under the number of another where its schema does not allow it.
func versions(events []*event) []Case {
	var cases []Case
	for _, e := range named(events, true) {
		if e.route.Version == 0 {
			continue // any will do
		}
		m := e.sound(0, 1, "aggregate")
		all := e.outbox.Versions(e.route.Type)
		next := all[len(all)-1].Version + 1
		cases = append(cases, Case{fmt.Sprintf("versions/%s/as v%d", e.name(), next), func(ctx context.Context, fresh func() Consumer) error {
			if err := fresh().refuses(ctx, numbered(m, next)); err != nil {
				return fmt.Errorf("version %d, which the catalog does not have, %w", next, err)
			}
			return nil
		}})
		for _, other := range all {
			if other == e.route || e.route.Schema == nil {
				continue
			}
			theirs, err := (&event{e.catalog, e.outbox, other, false}).message(0, 1, "aggregate")
			if err != nil {
				continue // it has no sound example, and need not have one here
			}
			payload := open(theirs)[payloadField]
			if e.route.Schema.Validate(payload) == nil {
				continue
			}
			cases = append(cases, Case{fmt.Sprintf("versions/%s/with the payload of v%d", e.name(), other.Version), func(ctx context.Context, fresh func() Consumer) error {
				mixed := edited(m, func(envelope map[string]any) { envelope[payloadField] = payload })
				if err := fresh().refuses(ctx, mixed); err != nil {
					return fmt.Errorf("version %d with the payload of version %d %w", e.route.Version, other.Version, err)
				}
				return nil
			}})
		}
	}
	return cases
}

// numbered is m as another version.
func numbered(m *contracts.Message, version int64) *contracts.Message {
	out := edited(m, func(envelope map[string]any) { envelope["event_version"] = version })
	out.Attributes[contracts.AttrEventVersion] = strconv.FormatInt(version, 10)
	return out
}
