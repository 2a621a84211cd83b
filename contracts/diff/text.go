package diff

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"outboxrelay/contracts"
)

// deepest is how far down into themselves schemas are written: five steps for each
// level that a payload may have.
const deepest = 5 * contracts.MaxPayloadDepth

// texts writes schemas so that two are alike where they say the same in the same way.
// One that refers to itself is written down to a depth, and each once at each depth:
// written out, schemas that refer to each other would have no end for a dozen of them.
type texts map[writing]string

type writing struct {
	schema *jsonschema.Schema
	deep   int
}

func (t texts) all(schemas []*jsonschema.Schema, deep int) string {
	var b strings.Builder
	for _, s := range schemas {
		b.WriteString(t.one(s, deep))
	}
	return b.String()
}

func (t texts) one(s *jsonschema.Schema, deep int) string {
	if deep > deepest {
		return ""
	}
	at := writing{s, deep}
	if text, ok := t[at]; ok {
		return text
	}
	within := func(schemas ...*jsonschema.Schema) string { return t.all(schemas, deep+1) }
	v := viewOf([]*jsonschema.Schema{s}, within)
	var b strings.Builder
	fmt.Fprintf(&b, "(%v %v %v %v %v %v ", v.typed, v.types, v.listed, v.values, v.required, v.closed)
	for _, bounds := range []map[string]*big.Rat{v.lower, v.upper} {
		for _, name := range slices.Sorted(maps.Keys(bounds)) {
			fmt.Fprintf(&b, "%s %s ", name, bounds[name].RatString())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.properties)) {
		b.WriteString(name + within(v.properties[name]...))
	}
	b.WriteString(within(slices.Concat(v.others, v.items)...))
	fmt.Fprintf(&b, "%v)", v.rest)
	t[at] = fmt.Sprintf("%x", sha256.Sum256([]byte(b.String()))) // which does not grow with what is within
	return t[at]
}
