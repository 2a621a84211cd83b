package contracts

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// SchemasWithin returns every schema that has a say in what the given ones accept, each once:
// themselves, those of what is below, and all that they refer to.
func SchemasWithin(schemas ...*jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	seen := make(map[*jsonschema.Schema]bool)
	for len(schemas) > 0 {
		s := schemas[0]
		schemas = schemas[1:]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		out = append(out, s)
		schemas = append(schemas, directlyWithin(s)...)
	}
	slices.SortStableFunc(out, func(a, b *jsonschema.Schema) int { return strings.Compare(a.Location, b.Location) })
	return out
}

func directlyWithin(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(
		[]*jsonschema.Schema{
			s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
			s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
		},
		s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems,
	)
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	for _, sub := range s.Properties {
		all = append(all, sub)
	}
	for _, sub := range s.PatternProperties {
		all = append(all, sub)
	}
	for _, sub := range s.DependentSchemas {
		all = append(all, sub)
	}
	for _, sub := range s.Dependencies {
		all = append(all, oneOrMore(sub)...)
	}
	for _, sub := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		all = append(all, oneOrMore(sub)...)
	}
	return all
}

// oneOrMore returns the schemas of a field that may also hold something else.
func oneOrMore(v any) []*jsonschema.Schema {
	switch v := v.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{v}
	case []*jsonschema.Schema:
		return v
	}
	return nil
}
