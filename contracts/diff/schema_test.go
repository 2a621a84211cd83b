package diff_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/diff"
)

func schemaCatalog(t *testing.T, schema string) *contracts.Catalog {
	t.Helper()
	text := "targets: {T: {kind: pubsub, topic: the-topic}}\noutboxes: [{name: box, slice: s, events: [{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: s.json}]}]\n"
	c, err := contracts.ParseCatalog("c.yaml", []byte(text), fstest.MapFS{"s.json": {Data: []byte(schema)}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSchemas(t *testing.T) {
	of := func(property string) string { return `{"properties": {"x": ` + property + `}}` }
	const draft07, draft2019 = `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": `, `{"$schema": "https://json-schema.org/draft/2019-09/schema", "properties": {"x": `
	const tree = `{"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#/$defs/node"}}}, "anyOf": [{"properties": {"left": {"$ref": "#/$defs/node"}}}, {"required": ["name"]}]}}}`
	for _, c := range []struct {
		name, was, is string
		want          []string // kind: field change
	}{
		{"words only", `{"title": "a", "examples": [{}]}`, `{"title": "b", "description": "c", "$comment": "d"}`, nil},
		{"the same by a reference", of(`{"type": "string", "minLength": 1}`), `{"properties": {"x": {"$ref": "#/$defs/s", "minLength": 1}}, "$defs": {"s": {"type": "string"}}}`, nil},
		{"the same in parts", `{"required": ["x", "y"], "properties": {"x": {}}}`, `{"allOf": [{"required": ["y"]}, {"required": ["x"], "properties": {"x": {}}}]}`, nil},
		{"within itself, the same", tree, tree, nil},
		{"within itself, another", tree, `{"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"name": {"type": "integer"}, "children": {"items": {"$ref": "#/$defs/node"}}}, "anyOf": [{"properties": {"left": {"$ref": "#/$defs/node"}}}, {"required": ["name"]}]}}}`, []string{
			"breaking: payload has other rules: anyOf", "breaking: payload.name is integer, was string",
			"breaking: payload.children[] has other rules: anyOf", "breaking: payload.children[].name is integer, was string",
		}},
		{"a wider type", of(`{"type": "integer"}`), of(`{"type": "number"}`), []string{"breaking: payload.x is number, was integer"}},
		{"a narrower type", of(`{"type": ["string", "null"]}`), of(`{"type": "string"}`), []string{"breaking: payload.x is string, was null or string"}},
		{"any type", of(`{"type": "string"}`), of(`{}`), []string{"breaking: payload.x is anything, was string"}},
		{"a type", of(`{}`), of(`{"type": "string"}`), []string{"breaking: payload.x is string, was anything"}},
		{"never", of(`{"type": "string"}`), of(`false`), []string{"breaking: payload.x is nothing, was string"}},
		{"optional", `{"required": ["x"], "properties": {"x": {}}}`, of(`{}`), []string{"breaking: payload.x is optional, was required"}},
		{"required", of(`{}`), `{"required": ["x"], "properties": {"x": {}}}`, []string{"breaking: payload.x is required, was optional"}},
		{"required without a schema", `{}`, `{"required": ["x"]}`, []string{"breaking: payload.x is new, and required"}},
		{"new where the old is closed", `{"additionalProperties": false}`, `{"properties": {"x": {}}, "additionalProperties": false}`, []string{"breaking: payload.x is new"}},
		{"gone where the new is closed", `{"properties": {"x": {}}, "additionalProperties": false}`, `{"additionalProperties": false}`, []string{"breaking: payload.x is gone"}},
		{"closed", `{}`, `{"additionalProperties": false}`, []string{"breaking: payload allows no other fields any more"}},
		{"opened", `{"additionalProperties": false}`, `{}`, []string{"breaking: payload allows other fields"}},
		{"other fields", `{"additionalProperties": {"type": "string"}}`, `{"additionalProperties": {"type": "boolean"}}`, []string{"breaking: payload.* is boolean, was string"}},
		{"other fields checked", `{}`, `{"additionalProperties": {"type": "boolean"}}`, []string{"breaking: payload.* may not be everything any more"}},
		{"other fields free", `{"additionalProperties": {"type": "boolean"}}`, `{}`, []string{"breaking: payload.* may be anything"}},
		{"items", of(`{"items": {"properties": {"n": {"type": "integer"}}}}`), of(`{"items": {"properties": {"n": {"type": "string"}}}}`), []string{"breaking: payload.x[].n is string, was integer"}},
		{"items checked", of(`{}`), of(`{"items": {"type": "string"}}`), []string{"breaking: payload.x[] may not be everything any more"}},
		{"items free", of(`{"items": {"type": "string"}}`), of(`{}`), []string{"breaking: payload.x[] may be anything"}},
		{"enum", of(`{"type": "string"}`), of(`{"type": "string", "enum": ["a", "b"]}`), []string{`breaking: payload.x is only "a", "b"`}},
		{"no enum", of(`{"type": "string", "const": "a"}`), of(`{"type": "string"}`), []string{`breaking: payload.x may be other than "a"`}},
		{"bounds", of(`{"minimum": 1, "maxLength": 9, "maxItems": 2}`), of(`{"minimum": 2, "maxLength": 10, "minProperties": 1}`), []string{
			"breaking: payload.x has minProperties 1", "breaking: payload.x has minimum 2, was 1", "breaking: payload.x has maxItems 2 no more", "breaking: payload.x has maxLength 10, was 9",
		}},
		{"rules", of(`{"pattern": "^a", "not": {"const": 1}}`), of(`{"pattern": "^b", "not": {"const": 1}, "uniqueItems": true}`), []string{"breaking: payload.x has other rules: pattern, uniqueItems"}},
		{"a tuple of draft-07", draft07 + `{"items": [{"type": "string"}]}}}`, draft07 + `{"items": [{"type": "boolean"}]}}}`, []string{"breaking: payload.x has other rules: items"}},
		{"a tuple of 2019-09", draft2019 + `{"items": [{"type": "string"}]}}}`, draft2019 + `{"items": [{"type": "boolean"}]}}}`, []string{"breaking: payload.x has other rules: items"}},
		{"what may follow a tuple", draft07 + `{"items": [{}]}}}`, draft07 + `{"items": [{}], "additionalItems": false}}}`, []string{"breaking: payload.x has other rules: additionalItems"}},
		{"what else may follow a tuple", draft07 + `{"items": [{}], "additionalItems": {"type": "string"}}}}`, draft07 + `{"items": [{}], "additionalItems": true}}}`, []string{"breaking: payload.x has other rules: additionalItems"}},
		{"dependencies", draft07 + `{"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}}}`, draft07 + `{"dependencies": {"a": ["b"], "c": {"required": ["e"]}}}}}`, []string{"breaking: payload.x has other rules: dependencies"}},
		{"a dependency", draft07 + `{"dependencies": {"a": ["b"]}}}}`, draft07 + `{"dependencies": {"a": ["c"]}}}}`, []string{"breaking: payload.x has other rules: dependencies"}},
		{"a format that is checked", draft07 + `{"format": "email"}}}`, draft07 + `{"format": "date"}}}`, []string{"breaking: payload.x has other rules: format"}},
		{"a format in words only", of(`{"format": "email"}`), of(`{"format": "date"}`), nil},
		{
			"a dynamic reference", `{"properties": {"x": {"$dynamicRef": "#n"}}, "$defs": {"n": {"$dynamicAnchor": "n", "type": "string"}}}`,
			`{"properties": {"x": {"$dynamicRef": "#n"}}, "$defs": {"n": {"$dynamicAnchor": "n", "type": "boolean"}}}`,
			[]string{"breaking: payload.x has other rules: $dynamicRef"},
		},
		{
			"a recursive reference", `{"$schema": "https://json-schema.org/draft/2019-09/schema", "properties": {"x": {"$recursiveRef": "#"}}}`,
			`{"$schema": "https://json-schema.org/draft/2019-09/schema", "required": ["x"], "properties": {"x": {"$recursiveRef": "#"}}}`,
			[]string{"breaking: payload.x is required, was optional", "breaking: payload.x has other rules: $recursiveRef"},
		},
		{
			"every other rule", of(`{}`),
			of(`{"multipleOf": 2, "oneOf": [{}], "prefixItems": [{}], "if": {}, "then": {}, "else": {}, "propertyNames": {}, "contains": {}, "minContains": 1, "maxContains": 2,
				"unevaluatedProperties": {}, "unevaluatedItems": {}, "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": {}}, "patternProperties": {"^a": {}}}`),
			[]string{"breaking: payload.x has other rules: contains, dependentRequired, dependentSchemas, else, if, maxContains, minContains, multipleOf, oneOf, patternProperties, prefixItems, propertyNames, then, unevaluatedItems, unevaluatedProperties"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := diff.Compare(schemaCatalog(t, c.was), schemaCatalog(t, c.is), today)
			var got []string
			for _, change := range changes {
				got = append(got, string(change.Kind)+": "+change.Field+" "+change.Change)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Each of eight schemas refers to each, as fields and within anyOf: there are more ways through them than could ever be gone.
func TestSchemasThatReferToEachOther(t *testing.T) {
	schema := func(leaf string) string {
		var defs []string
		for i := range 8 {
			var fields, ways []string
			for j := range 8 {
				fields = append(fields, fmt.Sprintf(`"f%d": {"$ref": "#/$defs/d%d"}`, j, j))
				ways = append(ways, fmt.Sprintf(`{"properties": {"w%d": {"$ref": "#/$defs/d%d"}}}`, j, j))
			}
			defs = append(defs, fmt.Sprintf(`"d%d": {"properties": {"leaf": {"type": %q}, %s}, "anyOf": [%s]}`, i, leaf, strings.Join(fields, ", "), strings.Join(ways, ", ")))
		}
		return `{"$ref": "#/$defs/d0", "$defs": {` + strings.Join(defs, ", ") + `}}`
	}
	was := schemaCatalog(t, schema("string"))
	if got := diff.Compare(was, schemaCatalog(t, schema("string")), today); len(got) > 0 {
		t.Errorf("what is the same differs: %v", lines(got))
	}
	got := strings.Join(lines(diff.Compare(was, schemaCatalog(t, schema("integer")), today)), "\n")
	for _, want := range []string{"payload.leaf is integer, was string", "payload.f7.leaf is integer, was string", "payload has other rules: anyOf"} {
		if !strings.Contains(got, want) {
			t.Errorf("changes lack %q", want)
		}
	}
}
