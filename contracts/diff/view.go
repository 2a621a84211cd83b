package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"outboxrelay/contracts"
)

// view is what several schemas, all of which hold, say together about one value.
// How it is written does not show: by a reference, in allOf or in place.
type view struct {
	types      []string // of typed
	typed      bool
	values     []string // of enum and const, as JSON; of listed
	listed     bool
	required   []string
	properties map[string][]*jsonschema.Schema
	closed     bool                 // no other property is allowed
	others     []*jsonschema.Schema // of every other property
	items      []*jsonschema.Schema // of every item
	lower      map[string]*big.Rat  // bounds by keyword; absent: none
	upper      map[string]*big.Rat
	// rest are the constraints that are compared only as a whole, each as text.
	rest []string

	text func(...*jsonschema.Schema) string // writes those of rest
}

func viewOf(schemas []*jsonschema.Schema, text func(...*jsonschema.Schema) string) *view {
	v := &view{properties: make(map[string][]*jsonschema.Schema), lower: make(map[string]*big.Rat), upper: make(map[string]*big.Rat), text: text}
	v.types, v.typed = contracts.SchemaTypes(schemas...)
	slices.Sort(v.types)
	for _, s := range contracts.SchemaParts(schemas...) {
		v.add(s)
	}
	slices.Sort(v.values)
	slices.Sort(v.required)
	v.required = slices.Compact(v.required)
	slices.Sort(v.rest)
	v.rest = slices.Compact(v.rest)
	return v
}

func (v *view) add(s *jsonschema.Schema) {
	if s.Bool != nil && !*s.Bool {
		v.types, v.typed = nil, true
	}
	if s.Enum != nil {
		v.narrow(s.Enum.Values)
	}
	if s.Const != nil {
		v.narrow([]any{*s.Const})
	}
	v.required = append(v.required, s.Required...)
	for name, property := range s.Properties {
		v.properties[name] = append(v.properties[name], property)
	}
	switch other := s.AdditionalProperties.(type) {
	case bool:
		v.closed = v.closed || !other
	case *jsonschema.Schema:
		v.others = append(v.others, other)
	}
	if item, ok := s.Items.(*jsonschema.Schema); ok {
		v.items = append(v.items, item)
	}
	if s.Items2020 != nil {
		v.items = append(v.items, s.Items2020)
	}
	v.bounds(s)
	v.whole(s)
}

func (v *view) narrow(values []any) {
	var texts []string
	for _, value := range values {
		text, _ := json.Marshal(value) // it was JSON
		if !v.listed || slices.Contains(v.values, string(text)) {
			texts = append(texts, string(text))
		}
	}
	v.values, v.listed = texts, true
}

func (v *view) bounds(s *jsonschema.Schema) {
	tighten := func(bounds map[string]*big.Rat, name string, bound *big.Rat, sign int) {
		if bound != nil && (bounds[name] == nil || bound.Cmp(bounds[name]) == sign) {
			bounds[name] = bound
		}
	}
	count := func(n *int) *big.Rat {
		if n == nil {
			return nil
		}
		return big.NewRat(int64(*n), 1)
	}
	for name, bound := range map[string]*big.Rat{
		"minimum": s.Minimum, "exclusiveMinimum": s.ExclusiveMinimum, "minLength": count(s.MinLength), "minItems": count(s.MinItems), "minProperties": count(s.MinProperties),
	} {
		tighten(v.lower, name, bound, 1)
	}
	for name, bound := range map[string]*big.Rat{
		"maximum": s.Maximum, "exclusiveMaximum": s.ExclusiveMaximum, "maxLength": count(s.MaxLength), "maxItems": count(s.MaxItems), "maxProperties": count(s.MaxProperties),
	} {
		tighten(v.upper, name, bound, -1)
	}
}

// whole notes what is compared only as a whole.
func (v *view) whole(s *jsonschema.Schema) {
	note := func(keyword string, there bool, text string) {
		if there {
			v.rest = append(v.rest, keyword+" "+text)
		}
	}
	one := func(keyword string, s *jsonschema.Schema) {
		if s != nil {
			note(keyword, true, v.text(s))
		}
	}
	list := func(keyword string, schemas []*jsonschema.Schema) {
		note(keyword, len(schemas) > 0, v.text(schemas...))
	}
	if s.Pattern != nil {
		note("pattern", true, s.Pattern.String())
	}
	if s.MultipleOf != nil {
		note("multipleOf", true, s.MultipleOf.RatString())
	}
	if s.Format != nil { // which drafts before 2019-09 check
		note("format", true, s.Format.Name)
	}
	note("uniqueItems", s.UniqueItems, "")
	list("anyOf", s.AnyOf)
	list("oneOf", s.OneOf)
	list("prefixItems", s.PrefixItems)
	one("not", s.Not)
	one("if", s.If)
	one("then", s.Then)
	one("else", s.Else)
	one("propertyNames", s.PropertyNames)
	one("contains", s.Contains)
	one("unevaluatedProperties", s.UnevaluatedProperties)
	one("unevaluatedItems", s.UnevaluatedItems)
	for _, name := range slices.Sorted(maps.Keys(s.DependentRequired)) {
		note("dependentRequired", true, name+" "+strings.Join(s.DependentRequired[name], " "))
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		note("dependentSchemas", true, name+" "+v.text(s.DependentSchemas[name]))
	}
	for pattern, property := range s.PatternProperties {
		note("patternProperties", true, pattern.String()+" "+v.text(property))
	}
	v.olderDrafts(s, note)
	if s.MinContains != nil {
		note("minContains", true, fmt.Sprint(*s.MinContains))
	}
	if s.MaxContains != nil {
		note("maxContains", true, fmt.Sprint(*s.MaxContains))
	}
}

// olderDrafts notes what a schema says in words that draft 2020-12 has no more, and a
// reference that depends on who refers to it, of which it takes what stands in the same file.
func (v *view) olderDrafts(s *jsonschema.Schema, note func(keyword string, there bool, text string)) {
	if tuple, ok := s.Items.([]*jsonschema.Schema); ok {
		note("items", true, v.text(tuple...))
		switch more := s.AdditionalItems.(type) {
		case bool:
			note("additionalItems", !more, "")
		case *jsonschema.Schema:
			note("additionalItems", true, v.text(more))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		switch on := s.Dependencies[name].(type) {
		case []string:
			note("dependencies", true, name+" "+strings.Join(on, " "))
		case *jsonschema.Schema:
			note("dependencies", true, name+" "+v.text(on))
		}
	}
	if s.RecursiveRef != nil {
		note("$recursiveRef", true, v.text(s.RecursiveRef))
	}
	if s.DynamicRef != nil {
		note("$dynamicRef", true, v.text(s.DynamicRef.Ref))
	}
}
