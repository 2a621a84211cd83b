package contracttest

import (
	"context"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// missing wants an event refused that lacks a field of the envelope, or one that its
// schema requires.
func missing(events []*event) []Case {
	var cases []Case
	for _, e := range named(events, true) {
		m := e.sound(0, 1, "aggregate")
		var places []place
		for _, name := range envelopeFields() {
			places = append(places, place{name: name})
		}
		e.objects(func(path []string, parts []*jsonschema.Schema) {
			for _, part := range parts {
				for _, name := range part.Required {
					p := place{path, name}
					if _, there := inside(open(m), path)[name]; there && !slices.ContainsFunc(places, func(o place) bool { return o.String() == p.String() }) {
						places = append(places, p)
					}
				}
			}
		})
		for _, p := range places {
			cases = append(cases, Case{"missing/" + e.name() + "/" + p.String(), func(ctx context.Context, fresh func() Consumer) error {
				broken := edited(m, func(envelope map[string]any) { delete(inside(envelope, p.path), p.name) })
				if err := fresh().refuses(ctx, broken); err != nil {
					return fmt.Errorf("an event without %s %w", p, err)
				}
				return nil
			}})
		}
	}
	return cases
}

// unknownField is one that no contract has.
const unknownField = "x_of_tomorrow"

// unknown wants an event with fields of tomorrow handled as one without.
func unknown(events []*event) []Case {
	var cases []Case
	for _, e := range named(events, true) {
		m := e.sound(0, 1, "aggregate")
		places := []place{{name: unknownField}}
		e.objects(func(path []string, parts []*jsonschema.Schema) {
			if !slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool {
				return s.AdditionalProperties != nil || s.UnevaluatedProperties != nil
			}) {
				places = append(places, place{path, unknownField})
			}
		})
		for _, p := range places {
			cases = append(cases, Case{"unknown/" + e.name() + "/" + p.String(), func(ctx context.Context, fresh func() Consumer) error {
				want, err := after(ctx, fresh(), m)
				if err != nil {
					return err
				}
				got, err := after(ctx, fresh(), edited(m, func(envelope map[string]any) {
					inside(envelope, p.path)[p.name] = map[string]any{"a": []any{1, nil}}
				}))
				switch {
				case err != nil:
					return fmt.Errorf("with the unknown field %s: %w", p, err)
				case got != want:
					return fmt.Errorf("with the unknown field %s its effects are %s, want %s as without", p, got, want)
				}
				return nil
			}})
		}
	}
	return cases
}

// objects visits the objects of the first example's payload.
func (e *event) objects(visit func(path []string, parts []*jsonschema.Schema)) {
	payload, _ := open(e.sound(0, 1, "aggregate"))[payloadField].(map[string]any)
	var schemas []*jsonschema.Schema
	if e.route.Schema != nil {
		schemas = []*jsonschema.Schema{e.route.Schema}
	}
	objects(payload, schemas, []string{payloadField}, visit)
}
