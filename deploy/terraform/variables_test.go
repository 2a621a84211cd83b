package terraform_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

var update = flag.Bool("update", false, "write the tables of README.md")

// TestVariablesAreDeclaredWhole: each says what it is for, has a type, does not take
// null in place of its default, is used, and where more than true and false can be
// given, is validated.
func TestVariablesAreDeclaredWhole(t *testing.T) {
	c := load(t)
	used := c.roots("var")
	for name, b := range c.variables {
		attributes := b.Body.Attributes
		if !strings.HasSuffix(text(b, "description"), ".") {
			t.Errorf("variable %s: the description is no sentence: %q", name, text(b, "description"))
		}
		if attributes["type"] == nil {
			t.Errorf("variable %s has no type", name)
			continue
		}
		fallback := attributes["default"]
		_, nullable := attributes["nullable"]
		if isNull := fallback != nil && isNull(fallback); isNull == nullable {
			t.Errorf("variable %s: null is its default: %v; nullable is set: %v", name, isNull, nullable)
		}
		if typeOf(b) != "bool" && len(blocksOf(b, "validation")) == 0 {
			t.Errorf("variable %s is not validated", name)
		}
		if !slices.Contains(used, name) {
			t.Errorf("variable %s is not used", name)
		}
	}
	usedLocals := c.roots("local")
	for name := range c.locals {
		if !slices.Contains(usedLocals, name) {
			t.Errorf("local %s is not used", name)
		}
	}
}

func TestOutputsAreDescribed(t *testing.T) {
	for name, b := range load(t).outputs {
		if !strings.HasSuffix(text(b, "description"), ".") {
			t.Errorf("output %s: the description is no sentence: %q", name, text(b, "description"))
		}
	}
}

// TestReadmeListsVariablesAndOutputs; -update writes its tables.
func TestReadmeListsVariablesAndOutputs(t *testing.T) {
	c := load(t)
	var variables, outputs strings.Builder
	fmt.Fprint(&variables, "| variable | type | default | meaning |\n|---|---|---|---|\n")
	for _, b := range c.blocks {
		if b.Type == "variable" {
			fmt.Fprintf(&variables, "| `%s` | %s | %s | %s |\n", b.Labels[0], typeOf(b), defaultOf(t, b), text(b, "description"))
		}
	}
	fmt.Fprint(&outputs, "| output | meaning |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(c.outputs)) {
		fmt.Fprintf(&outputs, "| `%s` | %s |\n", name, text(c.outputs[name], "description"))
	}
	got, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := between(t, got, "variables", variables.String())
	want = between(t, want, "outputs", outputs.String())
	if *update {
		if err := os.WriteFile("README.md", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("README.md differs from the configuration; run go test ./deploy/terraform -run Readme -update (-want +got):\n%s", diff)
	}
}

// between puts table between the marks of its name.
func between(t *testing.T, readme []byte, name, table string) []byte {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := bytes.Cut(readme, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		t.Fatalf("README.md has no marks %q and %q", begin, end)
	}
	return slices.Concat(before, []byte(begin+"\n"+table+"\n"+end), after)
}

// typeOf is the type of a variable, without what is in an object.
func typeOf(b *hclsyntax.Block) string {
	return typeName(b.Body.Attributes["type"].Expr)
}

func typeName(expr hclsyntax.Expression) string {
	switch e := expr.(type) {
	case *hclsyntax.FunctionCallExpr:
		if e.Name == "object" {
			return "object"
		}
		return e.Name + " of " + typeName(e.Args[0])
	case *hclsyntax.ScopeTraversalExpr:
		return e.Traversal.RootName()
	}
	return ""
}

func isNull(a *hclsyntax.Attribute) bool {
	v, diags := a.Expr.Value(nil)
	return !diags.HasErrors() && v.IsNull()
}

// defaultOf shows a default as it is written.
func defaultOf(t *testing.T, b *hclsyntax.Block) string {
	t.Helper()
	a := b.Body.Attributes["default"]
	if a == nil {
		return "required"
	}
	source, err := os.ReadFile(a.SrcRange.Filename)
	if err != nil {
		t.Fatal(err)
	}
	if isNull(a) {
		return "none"
	}
	return "`" + string(a.Expr.Range().SliceBytes(source)) + "`"
}
