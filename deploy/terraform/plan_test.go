package terraform_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"outboxrelay/deploy/local/thorough"
	"outboxrelay/deploy/terraform/schema"
)

// plan evaluates every expression of the configuration, with a made-up text in the
// place of what a resource would tell. It returns what expressions then see; and
// fails the test for each that cannot be evaluated.
func (c config) plan(t *testing.T, given map[string]cty.Value) *hcl.EvalContext {
	t.Helper()
	p := &planner{config: c, known: schemas(t), ctx: c.evaluator(t, given)}
	for range 3 { // resources, what refers to them, and locals that do
		p.faults = nil
		byType := map[string]map[string]cty.Value{}
		for _, key := range slices.Sorted(maps.Keys(c.resources)) {
			b := c.resources[key]
			if b.Type != "resource" {
				continue
			}
			typ, name := b.Labels[0], b.Labels[1]
			if byType[typ] == nil {
				byType[typ] = map[string]cty.Value{}
			}
			byType[typ][name] = p.resource(b)
		}
		for typ, resources := range byType {
			p.ctx.Variables[typ] = cty.ObjectVal(resources)
		}
		c.setLocals(t, p.ctx)
	}
	for name, b := range c.outputs {
		p.value(b.Body.Attributes["value"], p.ctx, "output "+name)
	}
	for _, fault := range p.faults {
		t.Error(fault)
	}
	return p.ctx
}

type planner struct {
	config config
	known  map[string]*schema.Resource
	ctx    *hcl.EvalContext
	faults []string
}

// resource evaluates all instances of a resource: one, a list or a map.
func (p *planner) resource(b *hclsyntax.Block) cty.Value {
	where := strings.Join(b.Labels, ".")
	if a := b.Body.Attributes["count"]; a != nil {
		count, _ := p.value(a, p.ctx, where).AsBigFloat().Int64()
		out := []cty.Value{}
		for i := range count {
			out = append(out, p.instance(b, p.ctx, fmt.Sprintf("%s[%d]", where, i)))
		}
		return cty.TupleVal(out)
	}
	if a := b.Body.Attributes["for_each"]; a != nil {
		out := map[string]cty.Value{}
		p.each(p.value(a, p.ctx, where), "each", p.ctx, func(key string, ctx *hcl.EvalContext) {
			out[key] = p.instance(b, ctx, fmt.Sprintf("%s[%q]", where, key))
		})
		return cty.ObjectVal(out)
	}
	return p.instance(b, p.ctx, where)
}

// instance is what a resource tells: its arguments, and what the provider computes.
func (p *planner) instance(b *hclsyntax.Block, ctx *hcl.EvalContext, where string) cty.Value {
	out := map[string]cty.Value{"id": cty.StringVal(where + ".id")}
	if known := p.known["resource "+b.Labels[0]]; known != nil {
		for _, name := range append(slices.Clone(known.Attributes), known.Body.Optional...) {
			out[name] = cty.StringVal(where + "." + name)
		}
	}
	maps.Copy(out, p.body(b.Body, ctx, where))
	for _, lifecycle := range blocksOf(b, "lifecycle") {
		for _, condition := range blocksOf(lifecycle, "precondition") {
			if ok := p.value(condition.Body.Attributes["condition"], ctx, where); ok.IsKnown() && ok.False() {
				p.faults = append(p.faults, p.value(condition.Body.Attributes["error_message"], ctx, where).AsString())
			}
		}
	}
	return cty.ObjectVal(out)
}

// body evaluates what stands between the braces; each kind of block is a list.
func (p *planner) body(body *hclsyntax.Body, ctx *hcl.EvalContext, where string) map[string]cty.Value {
	out := map[string]cty.Value{}
	for name, a := range body.Attributes {
		if !slices.Contains(metaArguments, name) || name == "depends_on" && strings.Contains(where, ".containers") {
			out[name] = p.value(a, ctx, where+"."+name)
		}
	}
	blocks := map[string][]cty.Value{}
	for _, b := range body.Blocks {
		switch {
		case slices.Contains(metaBlocks, b.Type):
		case b.Type == "dynamic":
			name := b.Labels[0]
			p.each(p.value(b.Body.Attributes["for_each"], ctx, where+"."+name), name, ctx, func(_ string, inner *hcl.EvalContext) {
				blocks[name] = append(blocks[name], cty.ObjectVal(p.body(blocksOf(b, "content")[0].Body, inner, where+"."+name)))
			})
		default:
			blocks[b.Type] = append(blocks[b.Type], cty.ObjectVal(p.body(b.Body, ctx, where+"."+b.Type)))
		}
	}
	for name, list := range blocks {
		out[name] = cty.TupleVal(list)
	}
	return out
}

// each calls of for each element, with its key and value under name.
func (p *planner) each(elements cty.Value, name string, ctx *hcl.EvalContext, of func(key string, ctx *hcl.EvalContext)) {
	if !elements.IsWhollyKnown() && (!elements.IsKnown() || !elements.CanIterateElements()) {
		return // known in a later round
	}
	for it := elements.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if elements.Type().IsSetType() {
			key = value
		}
		text := "0"
		if key.Type() == cty.String {
			text = key.AsString()
		}
		inner := ctx.NewChild()
		inner.Variables = map[string]cty.Value{name: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		of(text, inner)
	}
}

func (p *planner) value(a *hclsyntax.Attribute, ctx *hcl.EvalContext, where string) cty.Value {
	value, diags := a.Expr.Value(ctx)
	if diags.HasErrors() {
		p.faults = append(p.faults, fmt.Sprintf("%s: %v", where, diags))
		return cty.DynamicVal
	}
	return value
}

// at follows a path of attributes and indexes into a planned value.
func at(t *testing.T, value cty.Value, path ...any) cty.Value {
	t.Helper()
	for i, step := range path {
		switch s := step.(type) {
		case string:
			if !value.Type().HasAttribute(s) {
				t.Fatalf("%v: there is no %s", path[:i], s)
			}
			value = value.GetAttr(s)
		case int:
			value = value.Index(cty.NumberIntVal(int64(s)))
		}
	}
	return value
}

// TestConfigurationEvaluates: each expression gives a value, in each way that the
// service can be set up.
func TestConfigurationEvaluates(t *testing.T) {
	thorough.Long(t)
	c := load(t)
	_, runs := readCases(t)
	for _, run := range runs {
		if run.Body.Attributes["expect_failures"] != nil {
			continue
		}
		t.Run(strings.TrimPrefix(run.Labels[0], "takes_"), func(t *testing.T) {
			more := map[string]cty.Value{}
			for _, b := range blocksOf(run, "variables") {
				maps.Copy(more, assignments(t, b.Body))
			}
			c.plan(t, given(t, more))
		})
	}
}

// TestSubscriptionToAnUnknownTopicIsRefused, with the topics that there are.
func TestSubscriptionToAnUnknownTopicIsRefused(t *testing.T) {
	c := load(t)
	p := &planner{config: c, known: schemas(t), ctx: c.evaluator(t, given(t, map[string]cty.Value{
		"subscriptions": cty.ObjectVal(map[string]cty.Value{"tags": cty.ObjectVal(map[string]cty.Value{"topic": cty.StringVal("no-such-topic")})}),
	}))}
	p.resource(c.resources["resource google_pubsub_subscription consumer"])
	if !slices.ContainsFunc(p.faults, func(f string) bool { return strings.Contains(f, "no-such-topic, which the catalog does not name") }) {
		t.Errorf("nothing says that the topic is unknown: %q", p.faults)
	}
}

var instance = regexp.MustCompile(`(google_\w+)\.(\w+)\["([^"]+)"\]`)

// TestReadmeNamesWhatIsThere: the addresses that it imports to are those of the
// configuration.
func TestReadmeNamesWhatIsThere(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	planned := load(t).plan(t, given(t, nil)).Variables
	found := instance.FindAllStringSubmatch(string(readme), -1)
	if len(found) == 0 {
		t.Fatal("README.md imports nothing")
	}
	for _, m := range found {
		if !at(t, planned[m[1]], m[2]).Type().HasAttribute(m[3]) {
			t.Errorf("README.md: there is no %s", m[0])
		}
	}
}
