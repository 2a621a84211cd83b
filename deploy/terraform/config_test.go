package terraform_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"outboxrelay/deploy/terraform/schema"
)

// config is the configuration of this directory.
type config struct {
	blocks    []*hclsyntax.Block // of all files
	variables map[string]*hclsyntax.Block
	outputs   map[string]*hclsyntax.Block
	locals    map[string]hclsyntax.Expression
	resources map[string]*hclsyntax.Block // "resource TYPE NAME" and "data TYPE NAME"
}

// tfFiles lists the files of the configuration.
func tfFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.tf")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d .tf files: %v", len(files), err)
	}
	return files
}

func load(t *testing.T) config {
	t.Helper()
	c := config{
		variables: map[string]*hclsyntax.Block{}, outputs: map[string]*hclsyntax.Block{},
		locals: map[string]hclsyntax.Expression{}, resources: map[string]*hclsyntax.Block{},
	}
	parser := hclparse.NewParser()
	for _, name := range tfFiles(t) {
		file, diags := parser.ParseHCLFile(name)
		if diags.HasErrors() {
			t.Fatalf("parse %s: %v", name, diags)
		}
		c.blocks = append(c.blocks, file.Body.(*hclsyntax.Body).Blocks...)
	}
	for _, b := range c.blocks {
		switch b.Type {
		case "variable":
			c.variables[b.Labels[0]] = b
		case "output":
			c.outputs[b.Labels[0]] = b
		case "resource", "data":
			c.resources[b.Type+" "+b.Labels[0]+" "+b.Labels[1]] = b
		case "locals":
			for name, a := range b.Body.Attributes {
				c.locals[name] = a.Expr
			}
		}
	}
	return c
}

func schemas(t *testing.T) map[string]*schema.Resource {
	t.Helper()
	all, err := schema.Load(os.DirFS("schema"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// text reads an attribute that is a constant string.
func text(b *hclsyntax.Block, name string) string {
	a, ok := b.Body.Attributes[name]
	if !ok {
		return ""
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		return ""
	}
	return v.AsString()
}

// blocksOf lists the blocks in b that are called name.
func blocksOf(b *hclsyntax.Block, name string) []*hclsyntax.Block {
	return slices.DeleteFunc(slices.Clone(b.Body.Blocks), func(inner *hclsyntax.Block) bool { return inner.Type != name })
}

// roots lists the names that the configuration refers to under root, such as var.
func (c config) roots(root string) []string {
	seen := map[string]bool{}
	for _, b := range c.blocks {
		for _, traversal := range traversals(b.Body) {
			if name, ok := step(traversal, 1); ok && traversal.RootName() == root {
				seen[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// traversals lists what a body and all within it refers to. Names that a for
// expression makes are not among them.
func traversals(body *hclsyntax.Body) []hcl.Traversal {
	var out []hcl.Traversal
	for _, a := range body.Attributes {
		out = append(out, hclsyntax.Variables(a.Expr)...)
	}
	for _, b := range body.Blocks {
		out = append(out, traversals(b.Body)...)
	}
	return out
}

// step is the name of the attribute at i of a traversal.
func step(t hcl.Traversal, i int) (string, bool) {
	if i >= len(t) {
		return "", false
	}
	attr, ok := t[i].(hcl.TraverseAttr)
	return attr.Name, ok
}
