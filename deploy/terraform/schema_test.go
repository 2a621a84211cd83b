package terraform_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"outboxrelay/deploy/terraform/schema"
)

// What every resource takes: the arguments and blocks of Terraform itself.
var (
	metaArguments = []string{"count", "for_each", "depends_on", "provider"}
	metaBlocks    = []string{"lifecycle", "provisioner", "timeouts"}
)

// TestArgumentsAreTheProviders: each argument and block is one that the provider's
// documentation names, and what it requires is there.
func TestArgumentsAreTheProviders(t *testing.T) {
	known := schemas(t)
	for key, block := range load(t).resources {
		typ := block.Labels[0]
		if !strings.HasPrefix(typ, "google_") {
			continue // Terraform's own
		}
		resource, ok := known[block.Type+" "+typ]
		if !ok {
			t.Errorf("%s: no schema/%s; run schema/extract", key, schema.FileName(block.Type, typ))
			continue
		}
		for _, fault := range faults(&resource.Body, block.Body, key, true) {
			t.Error(fault)
		}
		if beta := provider(block) == "google-beta"; beta != resource.Beta {
			t.Errorf("%s: it is of google-beta: %v, and says so: %v", key, resource.Beta, beta)
		}
	}
}

// faults compares a body with what it may and must hold.
func faults(want *schema.Body, got *hclsyntax.Body, where string, top bool) []string {
	var out []string
	for name := range got.Attributes {
		if !want.Takes(name) && (!top || !slices.Contains(metaArguments, name)) {
			out = append(out, fmt.Sprintf("%s: the provider documents no argument %s", where, name))
		}
	}
	blocks := map[string]bool{}
	for _, b := range got.Blocks {
		name, body := b.Type, b.Body
		if top && slices.Contains(metaBlocks, name) {
			continue
		}
		if name == "dynamic" {
			name = b.Labels[0]
			body = blocksOf(b, "content")[0].Body
		}
		blocks[name] = true
		inner, ok := want.Blocks[name]
		if !ok {
			out = append(out, fmt.Sprintf("%s: the provider documents no block %s", where, name))
			continue
		}
		out = append(out, faults(inner, body, where+"."+name, false)...)
	}
	for _, name := range want.Required {
		if _, ok := got.Attributes[name]; !ok {
			out = append(out, fmt.Sprintf("%s: argument %s is required", where, name))
		}
	}
	for _, name := range want.Needs {
		if !blocks[name] {
			out = append(out, fmt.Sprintf("%s: block %s is required", where, name))
		}
	}
	return out
}

func provider(b *hclsyntax.Block) string {
	a, ok := b.Body.Attributes["provider"]
	if !ok {
		return "google"
	}
	return hclsyntax.Variables(a.Expr)[0].RootName()
}

// TestSchemaFilesAreThoseInUse: no file stays for a type that has gone, and all are
// of one version.
func TestSchemaFilesAreThoseInUse(t *testing.T) {
	want := map[string]bool{}
	for _, b := range load(t).resources {
		if strings.HasPrefix(b.Labels[0], "google_") {
			want[schema.FileName(b.Type, b.Labels[0])] = true
		}
	}
	versions := map[string]bool{}
	for key, r := range schemas(t) {
		versions[r.Provider+" "+r.Commit] = true
		if name := schema.FileName(r.Kind, r.Type); !want[name] {
			t.Errorf("schema/%s is of %s, which nothing uses: delete it", name, key)
		}
	}
	if len(versions) != 1 {
		t.Errorf("the schema files are of several versions: %v; run schema/extract", versions)
	}
}

// TestSchemaIsReadFromItsDocument: the parser, on a page like the provider's.
func TestSchemaIsReadFromItsDocument(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("testdata", "thing.html.markdown"))
	if err != nil {
		t.Fatal(err)
	}
	got := schema.Resource{Type: "google_thing"}
	if err := got.Parse(string(page)); err != nil {
		t.Fatal(err)
	}
	want := schema.Resource{
		Type: "google_thing",
		Body: schema.Body{
			Required: []string{"name", "permissions"},
			Optional: []string{"labels", "project"},
			Needs:    []string{"source", "template"},
			Blocks: map[string]*schema.Body{
				"template": {Optional: []string{"timeout"}, Blocks: map[string]*schema.Body{
					"scaling": {Optional: []string{"most"}},
				}},
				"scaling": {Required: []string{"least"}},
				"source":  {Required: []string{"file"}},
			},
		},
		Attributes: []string{"etag", "id", "state"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schema of the page (-want +got):\n%s", diff)
	}
	if err := got.Parse("# google_thing\n"); err == nil {
		t.Error("a page without an argument reference was parsed")
	}
}
