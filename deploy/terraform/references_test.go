package terraform_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"outboxrelay/deploy/terraform/schema"
)

// TestReferencesLeadSomewhere: each var, local and resource that an expression names
// is declared, and what it asks of a resource is there.
func TestReferencesLeadSomewhere(t *testing.T) {
	c := load(t)
	check := references{t: t, config: c, known: schemas(t)}
	for _, b := range c.blocks {
		switch b.Type {
		case "terraform":
		case "variable": // its type is no expression
			for _, validation := range blocksOf(b, "validation") {
				check.body(validation.Body, nil)
			}
		default:
			check.body(b.Body, nil)
		}
	}
}

// references checks the references of a configuration.
type references struct {
	t      *testing.T
	config config
	known  map[string]*schema.Resource
}

// body checks a body. Iterators are the names that dynamic blocks around it give.
func (r references) body(body *hclsyntax.Body, iterators []string) {
	for _, a := range body.Attributes {
		for _, traversal := range hclsyntax.Variables(a.Expr) {
			r.traversal(traversal, iterators)
		}
		hclsyntax.VisitAll(a.Expr, func(node hclsyntax.Node) hcl.Diagnostics {
			r.indexed(node)
			return nil
		})
	}
	for _, b := range body.Blocks {
		inner := iterators
		if b.Type == "dynamic" {
			inner = append(slices.Clone(iterators), b.Labels[0])
		}
		r.body(b.Body, inner)
	}
}

func (r references) traversal(traversal hcl.Traversal, iterators []string) {
	root := traversal.RootName()
	name, _ := step(traversal, 1)
	at := traversal.SourceRange()
	switch root {
	case "each", "count", "path", "google-beta":
	case "var":
		if r.config.variables[name] == nil {
			r.t.Errorf("%s: variable %s is not declared", at, name)
		}
	case "local":
		if r.config.locals[name] == nil {
			r.t.Errorf("%s: local %s is not declared", at, name)
		}
	case "data":
		second, _ := step(traversal, 2)
		r.resource("data", name, second, traversal[3:])
	default:
		if slices.Contains(iterators, root) {
			return
		}
		r.resource("resource", root, name, traversal[2:])
	}
}

// resource checks that a resource is declared, and the attribute that rest begins
// with, behind a key where it has one.
func (r references) resource(kind, typ, name string, rest hcl.Traversal) {
	if r.config.resources[kind+" "+typ+" "+name] == nil {
		r.t.Errorf("%s %s.%s is referred to and not declared", kind, typ, name)
		return
	}
	if len(rest) > 0 {
		if _, ok := rest[0].(hcl.TraverseIndex); ok {
			rest = rest[1:]
		}
	}
	if attribute, ok := step(rest, 0); ok {
		r.attribute(kind, typ, attribute)
	}
}

func (r references) attribute(kind, typ, name string) {
	if !strings.HasPrefix(typ, "google_") {
		return
	}
	if known := r.known[kind+" "+typ]; known != nil && !known.Has(name) {
		r.t.Errorf("%s has no %s", typ, name)
	}
}

// indexed checks resource[key].attribute, which is no plain traversal when the key
// is an expression.
func (r references) indexed(node hclsyntax.Node) {
	relative, ok := node.(*hclsyntax.RelativeTraversalExpr)
	if !ok {
		return
	}
	index, ok := relative.Source.(*hclsyntax.IndexExpr)
	if !ok {
		return
	}
	of, ok := index.Collection.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return
	}
	if attribute, ok := step(relative.Traversal, 0); ok && strings.HasPrefix(of.Traversal.RootName(), "google_") {
		r.attribute("resource", of.Traversal.RootName(), attribute)
	}
}
