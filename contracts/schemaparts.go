package contracts

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// SchemaParts returns the schemas that a value must satisfy together: those given,
// all that they refer to and those of allOf. It enters no alternatives.
func SchemaParts(schemas ...*jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	var add func(*jsonschema.Schema)
	add = func(s *jsonschema.Schema) {
		if s == nil || slices.Contains(out, s) {
			return
		}
		out = append(out, s)
		add(s.Ref)
		for _, part := range s.AllOf {
			add(part)
		}
	}
	for _, s := range schemas {
		add(s)
	}
	return out
}

// SchemaTypes lists the JSON types that schemas, all of which hold, leave to a value:
// none of them when they contradict each other. It reports false when they leave it
// open.
func SchemaTypes(schemas ...*jsonschema.Schema) (types []string, known bool) {
	narrow := func(allowed []string) {
		if !known {
			types, known = allowed, true
			return
		}
		var both []string
		for _, t := range types {
			switch {
			case slices.Contains(allowed, t), t == "integer" && slices.Contains(allowed, "number"):
				both = append(both, t)
			case t == "number" && slices.Contains(allowed, "integer"):
				both = append(both, "integer")
			}
		}
		types = both
	}
	for _, s := range SchemaParts(schemas...) {
		if s.Types != nil {
			narrow(s.Types.ToStrings())
		}
		if s.Enum != nil {
			var allowed []string
			for _, v := range s.Enum.Values {
				allowed = append(allowed, jsonTypeOf(v))
			}
			narrow(allowed)
		}
		if s.Const != nil {
			narrow([]string{jsonTypeOf(*s.Const)})
		}
	}
	return types, known
}

// jsonTypeOf names the JSON type of a value in a schema.
func jsonTypeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
