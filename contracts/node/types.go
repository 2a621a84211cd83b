package node

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"outboxrelay/contracts"
)

// types makes TypeScript types of JSON Schemas. A type never refuses what its schema
// accepts. It refuses what TypeScript can: a missing property, another type, a value
// that is none of those allowed. Patterns, lengths and bounds are left to the run.
type types struct {
	declared []string
	byPlace  map[string]string // name of a declared type, by its schema's location
	files    map[string][]byte // the schemas' files, by path
	read     map[string]any    // as far as they were read
	taken    map[string]bool
}

func newTypes(files map[string][]byte) *types {
	return &types{files: files, read: map[string]any{}, byPlace: map[string]string{}, taken: map[string]bool{"Payload": true, "Event": true, "Common": true}}
}

// payload returns the type of an event's payload.
func (t *types) payload(e *contracts.EventRoute) string {
	if e.Schema == nil {
		return "Payload"
	}
	name := typeName(e.Type)
	if e.Version > 1 {
		name += fmt.Sprintf("V%d", e.Version)
	}
	return t.declare(name, e.Schema)
}

// declare gives a schema's type a name, the same for the same schema.
func (t *types) declare(name string, s *jsonschema.Schema) string {
	if known, ok := t.byPlace[s.Location]; ok {
		return known
	}
	unique := name
	for n := 2; t.taken[unique] || reserved[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	t.taken[unique], t.byPlace[s.Location] = true, unique
	place := len(t.declared)
	t.declared = append(t.declared, "")
	comment := ""
	if s.Description != "" {
		comment = "/** " + strings.ReplaceAll(strings.Join(strings.Fields(s.Description), " "), "*/", "* /") + " */\n"
	}
	t.declared[place] = comment + "export type " + unique + " = " + t.of(unique, s, "") + ";\n\n"
	return unique
}

// reserved names stand for something else where the types are declared.
var reserved = map[string]bool{
	"Outbox": true, "Result": true, "Prepared": true, "OutboxRecord": true, "Fault": true, "InvalidEvent": true, "InvalidError": true, "Collision": true,
	"CollisionError": true, "Fields": true, "Report": true, "Route": true, "Box": true, "Draft": true, "Firestore": true, "Transaction": true, "Timestamp": true,
	"FieldValue": true, "DocumentReference": true, "DocumentSnapshot": true, "Ajv2020": true, "AnySchema": true, "ErrorObject": true, "ValidateFunction": true,
	"Date": true, "Error": true, "Map": true, "Set": true, "Object": true, "Array": true, "Buffer": true, "String": true, "Number": true, "Promise": true, "Record": true,
}

// of returns the type of a schema within the declared type of that name.
func (t *types) of(name string, s *jsonschema.Schema, indent string) string {
	if s.Bool != nil {
		if *s.Bool {
			return "unknown"
		}
		return "never"
	}
	var all []string
	if own := t.own(name, s, indent); own != "" {
		all = append(all, own)
	}
	if s.Ref != nil {
		all = append(all, t.declare(name+typeName(lastOf(s.Ref.Location)), s.Ref))
	}
	for _, sub := range s.AllOf {
		all = append(all, bracketed(t.of(name, sub, indent)))
	}
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		var some []string
		for _, sub := range list {
			some = append(some, bracketed(t.of(name, sub, indent)))
		}
		if len(some) > 0 {
			all = append(all, "("+strings.Join(unique(some), " | ")+")")
		}
	}
	all = slices.DeleteFunc(all, func(part string) bool { return part == "unknown" })
	if len(all) == 0 {
		return "unknown"
	}
	return strings.Join(all, " & ")
}

// own returns the type by what a schema says itself; "" where that is nothing.
func (t *types) own(name string, s *jsonschema.Schema, indent string) string {
	if s.Const != nil {
		return literal(*s.Const)
	}
	if s.Enum != nil {
		var values []string
		for _, v := range s.Enum.Values {
			values = append(values, literal(v))
		}
		return union(values)
	}
	if s.Types == nil {
		return "" // properties say nothing of what is no object
	}
	var some []string
	for _, jsonType := range s.Types.ToStrings() {
		switch jsonType {
		case "number", "integer":
			some = append(some, "number")
		case "string":
			some = append(some, jsonType)
			if t.isTime(s) { // which is a text for consumers
				some = append(some, "Date", "Timestamp")
			}
		case "boolean", "null":
			some = append(some, jsonType)
		case "array":
			some = append(some, t.list(name, s, indent))
		case "object":
			some = append(some, t.object(name, s, indent))
		}
	}
	slices.Sort(some)
	return union(slices.Compact(some))
}

// isTime reports whether a schema says that a text is a time. A format is an
// annotation, which only the schema as it is written tells.
func (t *types) isTime(s *jsonschema.Schema) bool {
	fields, _ := contracts.SchemaAsWritten(t.files, t.read, s).(map[string]any)
	return fields["format"] == "date-time"
}

func (t *types) list(name string, s *jsonschema.Schema, indent string) string {
	item := "unknown"
	switch {
	case len(s.PrefixItems) > 0: // places differ
	case s.Items2020 != nil:
		item = t.of(name, s.Items2020, indent)
	}
	return bracketed(item) + "[]"
}

func (t *types) object(name string, s *jsonschema.Schema, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	required := map[string]bool{}
	for _, property := range s.Required {
		required[property] = true
	}
	below := indent + "  "
	for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
		optional := "?"
		if required[property] {
			optional = ""
		}
		delete(required, property)
		fmt.Fprintf(&b, "%s%s%s: %s;\n", below, propertyName(property), optional, t.of(name, s.Properties[property], below))
	}
	for _, property := range slices.Sorted(maps.Keys(required)) {
		fmt.Fprintf(&b, "%s%s: unknown;\n", below, propertyName(property))
	}
	if closed, _ := s.AdditionalProperties.(bool); s.AdditionalProperties == nil || closed || len(s.PatternProperties) > 0 {
		b.WriteString(below + "[name: string]: unknown;\n")
	} else if more, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && len(s.Properties) == 0 {
		fmt.Fprintf(&b, "%s[name: string]: %s;\n", below, t.of(name, more, below))
	} else if ok { // an index would have to fit the properties, too
		b.WriteString(below + "[name: string]: unknown;\n")
	}
	b.WriteString(indent + "}")
	return b.String()
}

func union(some []string) string {
	if len(some) == 1 {
		return some[0]
	}
	return "(" + strings.Join(some, " | ") + ")"
}

func unique(some []string) []string {
	var out []string
	for _, s := range some {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func bracketed(t string) string {
	if strings.ContainsAny(t, "|&") && !strings.HasPrefix(t, "{") {
		return "(" + t + ")"
	}
	return t
}

var plainName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

func propertyName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return literal(name)
}

// typeName makes a type's name of an event type or a property: match.offer_generated
// is MatchOfferGenerated.
func typeName(name string) string {
	var b strings.Builder
	upper := true
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z' && upper:
			b.WriteRune(c - 'a' + 'A')
			upper = false
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9' && b.Len() > 0:
			b.WriteRune(c)
			upper = false
		default:
			upper = true
		}
	}
	return cmp.Or(b.String(), "Event")
}

// lastOf returns the last token of a schema's location.
func lastOf(location string) string { return location[strings.LastIndexAny(location, "/#")+1:] }
