package admin_test

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// document is the OpenAPI document as a client reads it.
type document struct {
	t        testing.TB
	root     map[string]any
	compiler *jsonschema.Compiler
}

func (f *fixture) document() *document {
	f.t.Helper()
	a := f.do("dev-viewer", http.MethodGet, "/openapi.json", "")
	if a.status != http.StatusOK {
		f.t.Fatalf("got %d: %s", a.status, a.body)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		f.t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("https://relay.example.com/openapi.json", root); err != nil {
		f.t.Fatal(err)
	}
	return &document{f.t, root.(map[string]any), c}
}

// at walks down the document; nil when there is nothing.
func (d *document) at(path ...string) any {
	var v any = d.root
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// check validates a value against the schema that stands at a path of the document.
func (d *document) check(value any, path ...string) error {
	pointer := ""
	for _, p := range path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(p)
	}
	schema, err := d.compiler.Compile("https://relay.example.com/openapi.json#" + pointer)
	if err != nil {
		return fmt.Errorf("compile %s: %w", pointer, err)
	}
	return schema.Validate(value)
}

func TestOpenAPIListsExactlyTheEndpoints(t *testing.T) {
	d := setup(t).document()
	var got, want []string
	for path, item := range d.at("paths").(map[string]any) {
		for method, op := range item.(map[string]any) {
			role, _ := op.(map[string]any)["x-role"].(string)
			got = append(got, strings.ToUpper(method)+" "+path+" "+role)
		}
	}
	for _, e := range endpoints {
		want = append(want, e.method+" "+e.pattern+" "+e.role)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

func TestOpenAPIIsWhole(t *testing.T) {
	d := setup(t).document()
	if d.at("openapi") != "3.1.0" || d.at("info", "description") == nil || d.at("servers") == nil || d.at("security") == nil {
		t.Errorf("the head is %v", d.at("info"))
	}
	for _, scheme := range []string{"googleIdToken", "identityAwareProxy"} {
		if d.at("components", "securitySchemes", scheme, "description") == nil {
			t.Errorf("security scheme %s is not described", scheme)
		}
	}
	for _, e := range endpoints {
		op := []string{"paths", e.pattern, strings.ToLower(e.method)}
		name := e.method + " " + e.pattern
		for _, part := range []string{"operationId", "summary", "description", "tags"} {
			if d.at(append(op, part)...) == nil {
				t.Errorf("%s has no %s", name, part)
			}
		}
		params, _ := d.at(append(op, "parameters")...).([]any)
		for _, p := range params {
			p := p.(map[string]any)
			if p["description"] == nil || p["schema"] == nil {
				t.Errorf("%s: parameter %v is not described", name, p["name"])
			}
		}
		statuses := []string{fmt.Sprint(e.status), "400", "401", "403", "429", "500", "503"}
		if e.method == http.MethodPost {
			statuses = append(statuses, "413", "415", "422")
			if d.at(append(op, "requestBody", "content", "application/json", "schema")...) == nil {
				t.Errorf("%s tells of no body", name)
			}
		}
		for _, status := range statuses {
			if d.at(append(op, "responses", status, "description")...) == nil {
				t.Errorf("%s tells nothing of %s", name, status)
			}
		}
		responses := d.at(append(op, "responses")...).(map[string]any)
		for status := range responses {
			if status < "400" {
				continue
			}
			media := append(slices.Clone(op), "responses", status, "content", "application/problem+json")
			if err := d.check(d.at(append(media, "example")...), append(media, "schema")...); err != nil {
				t.Errorf("%s: example of %s: %v", name, status, err)
			}
		}
	}
}

// TestOpenAPISchemas compiles every schema, and checks the examples in them.
func TestOpenAPISchemas(t *testing.T) {
	d := setup(t).document()
	schemas := d.at("components", "schemas").(map[string]any)
	examples := 0
	for name, schema := range schemas {
		if err := d.check(map[string]any{"x": 1}, "components", "schemas", name); err != nil && strings.Contains(err.Error(), "compile") {
			t.Error(err)
		}
		properties, _ := schema.(map[string]any)["properties"].(map[string]any)
		for property, p := range properties {
			list, _ := p.(map[string]any)["examples"].([]any)
			for _, example := range list {
				examples++
				if err := d.check(example, "components", "schemas", name, "properties", property); err != nil {
					t.Errorf("example of %s.%s: %v", name, property, err)
				}
			}
		}
	}
	for _, stray := range []string{"ErrorModel", "ErrorDetail"} {
		if schemas[stray] != nil {
			t.Errorf("schema %s belongs to nothing", stray)
		}
	}
	t.Logf("%d schemas, %d examples", len(schemas), examples)
}

func TestAnswersAreAsDocumented(t *testing.T) {
	f := setup(t)
	d := f.document()
	check := func(e endpoint, a reply, status int) {
		t.Helper()
		if a.status != status {
			t.Fatalf("%s %s: got %d, want %d: %s", e.method, e.target, a.status, status, a.body)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		kind := a.header.Get("Content-Type")
		if err := d.check(value, "paths", e.pattern, strings.ToLower(e.method), "responses", fmt.Sprint(status), "content", kind, "schema"); err != nil {
			t.Errorf("%s %s: %v\n%s", e.method, e.target, err, a.body)
		}
		headers, _ := d.at("paths", e.pattern, strings.ToLower(e.method), "responses", fmt.Sprint(status), "headers").(map[string]any)
		for name := range headers {
			if name != "Content-Type" && a.header.Get(name) == "" && status < 300 {
				t.Errorf("%s %s: no header %s", e.method, e.target, name)
			}
		}
	}
	for _, e := range endpoints {
		f.pass(1e9)
		check(e, f.do("dev-security", e.method, e.target, e.body), e.status)
		if e.role != "viewer" {
			check(e, f.do("dev-viewer", e.method, e.target, e.body), http.StatusForbidden)
		}
		check(e, f.do("", e.method, e.target, e.body), http.StatusUnauthorized)
	}
	bulk := endpoints[slices.IndexFunc(endpoints, func(e endpoint) bool { return e.method == http.MethodPost && e.pattern == "/replays" })]
	check(bulk, f.do("dev-operator", http.MethodPost, "/replays", `{"filter":{},"dryRun":true}`), http.StatusOK)
}

func TestEnumsAreTheVocabulary(t *testing.T) {
	states := func() (out []contracts.DeadState) {
		for _, row := range dlq.Transitions() {
			if !slices.Contains(out, row.From.State) {
				out = append(out, row.From.State)
			}
		}
		return out
	}()
	for _, s := range []any{admin.FilterQuery{}, admin.Filter{}} {
		for field, want := range map[string]any{
			"Tier": contracts.Tiers(), "State": states, "Lane": contracts.Lanes(), "Reason": contracts.Reasons(),
		} {
			sf, _ := reflect.TypeOf(s).FieldByName(field)
			var words []string
			for v := range reflect.ValueOf(want).Seq() {
				words = append(words, reflect.ValueOf(want).Index(int(v.Int())).String())
			}
			got := strings.Split(sf.Tag.Get("enum"), ",")
			slices.Sort(got)
			slices.Sort(words)
			if diff := cmp.Diff(words, got); diff != "" {
				t.Errorf("%T.%s (-want +got):\n%s", s, field, diff)
			}
		}
	}
}
