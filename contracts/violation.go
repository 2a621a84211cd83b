package contracts

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemaFaults names every violation of schema by payload, in its JSON form.
// The messages say what the schema wants, never what the payload holds.
func schemaFaults(schema *jsonschema.Schema, payload any) Faults {
	err := schema.Validate(payload)
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return Faults{{FieldPayload, "cannot be checked against its schema"}}
	}
	var out Faults
	collectViolations(invalid, payload, &out)
	slices.SortFunc(out, func(a, b Fault) int { return strings.Compare(a.String(), b.String()) })
	out = slices.Compact(out)
	if more := len(out) - maxFieldFaults; more > 0 {
		out = append(out[:maxFieldFaults], moreFaults(FieldPayload, more))
	}
	return out
}

// collectViolations adds the leaves of e, or e itself where its causes are
// only attempts of which none fitted.
func collectViolations(e *jsonschema.ValidationError, payload any, out *Faults) {
	if len(e.Causes) > 0 && !tellsItself(e.ErrorKind) {
		for _, cause := range e.Causes {
			collectViolations(cause, payload, out)
		}
		return
	}
	at := instancePath(e.InstanceLocation, payload)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			*out = append(*out, Fault{string(at.key(name)), "is missing"})
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			*out = append(*out, Fault{string(at.key(name)), "is not allowed by its schema"})
		}
	case *kind.PropertyNames: // whose location is not reliable
		*out = append(*out, Fault{FieldPayload, "has a key " + quoted(k.Property) + " that its schema does not allow"})
	default:
		*out = append(*out, Fault{string(at), violation(k)})
	}
}

// tellsItself reports whether a violation says more than its causes.
func tellsItself(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.MinContains, *kind.PropertyNames:
		return true
	}
	return false
}

// instancePath turns the location of a violation into a path of payload:
// only payload tells whether "0" is a key or an index.
func instancePath(location []string, payload any) jsonPath {
	at := jsonPath(FieldPayload)
	for _, token := range location {
		if items, ok := payload.([]any); ok {
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(items) {
				at, payload = at.index(i), items[i]
				continue
			}
		}
		at = at.key(token)
		fields, _ := payload.(map[string]any)
		payload = fields[token]
	}
	return at
}

// violation says what the schema wants.
func violation(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("is %s, want %s", withArticle(k.Got), alternatives(k.Want))
	case *kind.Enum:
		return "is none of the values that its schema allows"
	case *kind.Const:
		return "is not the value that its schema wants"
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.Pattern:
		return "does not match " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("is %d characters long, want %d at least", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("is %d characters long, want %d at most", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items, want %d at least", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items, want %d at most", k.Got, k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d properties, want %d at least", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d properties, want %d at most", k.Got, k.Want)
	case *kind.Minimum:
		return "is less than " + k.Want.RatString()
	case *kind.Maximum:
		return "is more than " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "is not more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "is not less than " + k.Want.RatString()
	case *kind.MultipleOf:
		return "is not a multiple of " + k.Want.RatString()
	case *kind.UniqueItems:
		return fmt.Sprintf("has equal items at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains, *kind.MinContains:
		return "has too few of the items that its schema wants"
	case *kind.AnyOf:
		return "fits none of the alternatives of its schema"
	case *kind.OneOf:
		return "does not fit exactly one of the alternatives of its schema"
	case *kind.FalseSchema:
		return "is not allowed by its schema"
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return "violates " + path[0] + " of its schema"
	}
	return "violates its schema"
}

func withArticle(jsonType string) string {
	switch jsonType {
	case "null":
		return "null"
	case "integer", "array", "object":
		return "an " + jsonType
	}
	return "a " + jsonType
}

func alternatives(types []string) string {
	parts := make([]string, len(types))
	for i, t := range types {
		parts[i] = withArticle(t)
	}
	return strings.Join(parts, " or ")
}
