package terraform_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are those of Terraform that the configuration calls. Terraform's own
// are internal to it.
func functions() map[string]function.Function {
	return map[string]function.Function{
		"abspath":         textFunction(filepath.Abs),
		"alltrue":         allTrue,
		"can":             tryfunc.CanFunc,
		"coalesce":        stdlib.CoalesceFunc,
		"concat":          stdlib.ConcatFunc,
		"contains":        stdlib.ContainsFunc,
		"distinct":        stdlib.DistinctFunc,
		"endswith":        textTest(strings.HasSuffix),
		"file":            textFunction(func(name string) (string, error) { data, err := os.ReadFile(name); return string(data), err }),
		"fileexists":      fileExists,
		"filesha256":      textFunction(func(string) (string, error) { return strings.Repeat("0123456789abcdef", 4), nil }),
		"fileset":         fileSet,
		"flatten":         stdlib.FlattenFunc,
		"floor":           stdlib.FloorFunc,
		"join":            stdlib.JoinFunc,
		"jsondecode":      stdlib.JSONDecodeFunc,
		"keys":            stdlib.KeysFunc,
		"length":          length,
		"lookup":          stdlib.LookupFunc,
		"lower":           stdlib.LowerFunc,
		"merge":           stdlib.MergeFunc,
		"one":             one,
		"regex":           stdlib.RegexFunc,
		"replace":         stdlib.ReplaceFunc,
		"setintersection": stdlib.SetIntersectionFunc,
		"setsubtract":     stdlib.SetSubtractFunc,
		"setunion":        stdlib.SetUnionFunc,
		"sort":            stdlib.SortFunc,
		"split":           stdlib.SplitFunc,
		"startswith":      textTest(strings.HasPrefix),
		"substr":          stdlib.SubstrFunc,
		"tolist":          stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
		"tonumber":        stdlib.MakeToFunc(cty.Number),
		"tostring":        stdlib.MakeToFunc(cty.String),
		"toset":           stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"trimsuffix":      stdlib.TrimSuffixFunc,
		"try":             tryfunc.TryFunc,
		"values":          stdlib.ValuesFunc,
		"yamlencode":      stdlib.JSONEncodeFunc, // JSON is YAML
	}
}

// textFunction is a function from string to string.
func textFunction(of func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			out, err := of(args[0].AsString())
			return cty.StringVal(out), err
		},
	})
}

// textTest is a test of one string by another.
func textTest(of func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(of(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

var fileExists = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "name", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		info, err := os.Stat(args[0].AsString())
		return cty.BoolVal(err == nil && info.Mode().IsRegular()), nil
	},
})

var fileSet = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "dir", Type: cty.String}, {Name: "pattern", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Set(cty.String)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		names, err := filepath.Glob(filepath.Join(args[0].AsString(), args[1].AsString()))
		out := []cty.Value{}
		for _, name := range names {
			out = append(out, cty.StringVal(filepath.Base(name)))
		}
		if len(out) == 0 {
			return cty.SetValEmpty(cty.String), err
		}
		return cty.SetVal(out), err
	},
})

var allTrue = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		for it := args[0].ElementIterator(); it.Next(); {
			if _, v := it.Element(); v.IsNull() || v.False() {
				return cty.False, nil
			}
		}
		return cty.True, nil
	},
})

// length is stdlib's, and of strings too.
var length = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if args[0].Type() == cty.String {
			return stdlib.Strlen(args[0])
		}
		if args[0].Type().IsObjectType() {
			return cty.NumberIntVal(int64(len(args[0].Type().AttributeTypes()))), nil
		}
		return stdlib.Length(args[0])
	},
})

var one = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch n := args[0].LengthInt(); n {
		case 0:
			return cty.NullVal(cty.DynamicPseudoType), nil
		case 1:
			it := args[0].ElementIterator()
			it.Next()
			_, v := it.Element()
			return v, nil
		default:
			return cty.NilVal, fmt.Errorf("one of %d", n)
		}
	},
})

// inputs gives each variable its value out of given, or its default, in its type.
func (c config) inputs(t *testing.T, given map[string]cty.Value) map[string]cty.Value {
	t.Helper()
	out := map[string]cty.Value{}
	for name, block := range c.variables {
		typ, defaults, diags := typeexpr.TypeConstraintWithDefaults(block.Body.Attributes["type"].Expr)
		if diags.HasErrors() {
			t.Fatalf("type of variable %s: %v", name, diags)
		}
		value, ok := given[name]
		fallback := block.Body.Attributes["default"]
		if (!ok || value.IsNull()) && fallback != nil {
			if value, diags = fallback.Expr.Value(nil); diags.HasErrors() {
				t.Fatalf("default of variable %s: %v", name, diags)
			}
		}
		if value == cty.NilVal {
			t.Fatalf("variable %s has no default and is not given", name)
		}
		if defaults != nil && !value.IsNull() {
			value = defaults.Apply(value)
		}
		value, err := convert.Convert(value, typ)
		if err != nil {
			t.Fatalf("variable %s: %v", name, err)
		}
		out[name] = value
	}
	return out
}

// evaluator evaluates expressions with the inputs and the locals. The project's
// number is 123456789012; what resources tell is unknown until plan knows them.
func (c config) evaluator(t *testing.T, given map[string]cty.Value) *hcl.EvalContext {
	t.Helper()
	ctx := &hcl.EvalContext{Functions: functions(), Variables: map[string]cty.Value{
		"var":  cty.ObjectVal(c.inputs(t, given)),
		"path": cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal(".")}),
		"data": cty.ObjectVal(map[string]cty.Value{"google_project": cty.ObjectVal(map[string]cty.Value{
			"this": cty.ObjectVal(map[string]cty.Value{"number": cty.StringVal("123456789012")}),
		})}),
	}}
	for _, b := range c.resources {
		if b.Type == "resource" {
			ctx.Variables[b.Labels[0]] = cty.DynamicVal
		}
	}
	c.setLocals(t, ctx)
	return ctx
}

// setLocals evaluates the locals, each after those that it needs: try would take a
// value that is not there yet for one that is missing.
func (c config) setLocals(t *testing.T, ctx *hcl.EvalContext) {
	t.Helper()
	known := map[string]cty.Value{}
	for range c.locals { // one more is known each time, at least
		for name, expr := range c.locals {
			if _, done := known[name]; done || !c.ready(expr, known) {
				continue
			}
			ctx.Variables["local"] = cty.ObjectVal(known)
			value, diags := expr.Value(ctx)
			if diags.HasErrors() {
				t.Fatalf("local %s: %v", name, diags)
			}
			known[name] = value
		}
	}
	if len(known) != len(c.locals) {
		t.Fatalf("of %d locals %d can be evaluated: some need each other", len(c.locals), len(known))
	}
	ctx.Variables["local"] = cty.ObjectVal(known)
}

func (c config) ready(expr hclsyntax.Expression, known map[string]cty.Value) bool {
	for _, traversal := range hclsyntax.Variables(expr) {
		name, _ := step(traversal, 1)
		if _, ok := known[name]; traversal.RootName() == "local" && !ok {
			return false
		}
	}
	return true
}

// local decodes a local value into a Go one, by way of JSON.
func local[T any](t *testing.T, ctx *hcl.EvalContext, name string) T {
	t.Helper()
	var out T
	value, err := stdlib.JSONEncode(ctx.Variables["local"].GetAttr(name))
	if err != nil {
		t.Fatalf("local %s: %v", name, err)
	}
	if err := json.Unmarshal([]byte(value.AsString()), &out); err != nil {
		t.Fatalf("local %s: %v", name, err)
	}
	return out
}

// assignments evaluates the attributes of a body that holds constants.
func assignments(t *testing.T, body *hclsyntax.Body) map[string]cty.Value {
	t.Helper()
	out := map[string]cty.Value{}
	for name, a := range body.Attributes {
		value, diags := a.Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatalf("%s: %v", name, diags)
		}
		out[name] = value
	}
	return out
}
