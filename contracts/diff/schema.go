package diff

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"outboxrelay/contracts"
)

// The two ends between which a schema stands.
const (
	refused = "records that producers append as before are contract violations and go to the dead-letter queue"
	misread = "consumers meet what the old schema ruled out: those that check it refuse the event, the others may misread it"
)

// tell is given each difference between two schemas.
type tell func(kind Kind, field, change, consequence string)

// compareSchemas tells how payloads differ from one schema to the next.
func compareSchemas(was, is *jsonschema.Schema, tell tell) {
	c := &comparison{tell: tell, compared: make(map[string]int), texts: make(texts)}
	c.compare([]*jsonschema.Schema{was}, []*jsonschema.Schema{is}, "payload")
	for len(c.ahead) > 0 {
		c.at, c.ahead = c.ahead[0], c.ahead[1:]
		c.differences(c.at)
	}
}

// mostPlaces bounds in how many places one schema is compared with another. Where schemas
// refer to each other, the ways to one of them grow with the factorial of how many they are.
const mostPlaces = 50

// comparison goes through the payload level by level, so that where a schema stands in
// more than mostPlaces, the outermost are told.
type comparison struct {
	tell     tell
	at       place
	ahead    []place
	compared map[string]int // in how many places, by pair
	texts    texts
}

// place is where two schemas are to be compared.
type place struct {
	was, is []*jsonschema.Schema
	field   string
	within  []string // the pairs down to this one: a schema may refer to itself
}

// compare has two schemas compared after those further out.
func (c *comparison) compare(was, is []*jsonschema.Schema, field string) {
	pair := identity(was) + "and " + identity(is)
	if slices.Contains(c.at.within, pair) || c.compared[pair] == mostPlaces {
		return
	}
	c.compared[pair]++
	c.ahead = append(c.ahead, place{was, is, field, append(slices.Clip(c.at.within), pair)})
}

func (c *comparison) differences(at place) {
	field := at.field
	text := func(schemas ...*jsonschema.Schema) string { return c.texts.all(schemas, 0) }
	o, n := viewOf(at.was, text), viewOf(at.is, text)
	if !c.types(o, n, field) {
		return // nothing of the old is left to compare
	}
	c.values(o, n, field)
	c.properties(o, n, field)
	c.bounds(o.lower, n.lower, 1, field)
	c.bounds(o.upper, n.upper, -1, field)
	switch {
	case len(o.items) > 0 && len(n.items) > 0:
		c.compare(o.items, n.items, field+"[]")
	case len(n.items) > 0:
		c.tell(Breaking, field+"[]", "may not be everything any more", refused)
	case len(o.items) > 0:
		c.tell(Breaking, field+"[]", "may be anything", misread)
	}
	if !slices.Equal(o.rest, n.rest) {
		c.tell(Breaking, field, "has other rules: "+keywords(o.rest, n.rest), refused+"; or "+misread)
	}
}

// identity tells the parts of schemas from those of others.
func identity(schemas []*jsonschema.Schema) string {
	var b strings.Builder
	for _, s := range contracts.SchemaParts(schemas...) {
		fmt.Fprintf(&b, "%p ", s)
	}
	return b.String()
}

// types reports whether some type is common to both.
func (c *comparison) types(o, n *view, field string) bool {
	fits := func(t string, v *view) bool {
		return !v.typed || slices.Contains(v.types, t) || t == "integer" && slices.Contains(v.types, "number")
	}
	words := func(v *view) string {
		switch {
		case !v.typed:
			return "anything"
		case len(v.types) == 0:
			return "nothing"
		}
		return strings.Join(v.types, " or ")
	}
	lost, gained := n.typed && !o.typed, o.typed && !n.typed
	common := !o.typed || !n.typed
	for _, t := range o.types {
		if o.typed && !fits(t, n) {
			lost = true
		} else {
			common = true
		}
	}
	for _, t := range n.types {
		if n.typed && !fits(t, o) {
			gained = true
		} else {
			common = true
		}
	}
	change := "is " + words(n) + ", was " + words(o)
	switch {
	case lost && gained:
		c.tell(Breaking, field, change, refused+"; "+misread)
	case lost:
		c.tell(Breaking, field, change, refused)
	case gained:
		c.tell(Breaking, field, change, misread)
	}
	return common
}

func (c *comparison) values(o, n *view, field string) {
	switch {
	case !o.listed && !n.listed:
	case !o.listed:
		c.tell(Breaking, field, "is only "+strings.Join(n.values, ", "), refused)
	case !n.listed:
		c.tell(Breaking, field, "may be other than "+strings.Join(o.values, ", "), misread)
	default:
		for _, value := range o.values {
			if !slices.Contains(n.values, value) {
				c.tell(Breaking, field, "is "+value+" no more", refused)
			}
		}
		for _, value := range n.values {
			if !slices.Contains(o.values, value) {
				c.tell(Breaking, field, "may be "+value, misread)
			}
		}
	}
}

func (c *comparison) properties(o, n *view, field string) {
	names := maps.Clone(o.properties)
	maps.Copy(names, n.properties)
	for _, v := range []*view{o, n} {
		for _, name := range v.required {
			names[name] = nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c.property(o, n, name, field+"."+name)
	}
	switch {
	case n.closed && !o.closed:
		c.tell(Breaking, field, "allows no other fields any more", refused)
	case o.closed && !n.closed:
		c.tell(Breaking, field, "allows other fields", misread)
	}
	switch {
	case len(o.others) > 0 && len(n.others) > 0:
		c.compare(o.others, n.others, field+".*")
	case len(n.others) > 0:
		c.tell(Breaking, field+".*", "may not be everything any more", refused)
	case len(o.others) > 0 && !n.closed:
		c.tell(Breaking, field+".*", "may be anything", misread)
	}
}

func (c *comparison) property(o, n *view, name, field string) {
	was, had := o.properties[name]
	is, has := n.properties[name]
	needed, needs := slices.Contains(o.required, name), slices.Contains(n.required, name)
	switch {
	case needs && !needed && !had:
		c.tell(Breaking, field, "is new, and required", refused)
	case needs && !needed:
		c.tell(Breaking, field, "is required, was optional", refused)
	case needed && !needs && (has || !had):
		c.tell(Breaking, field, "is optional, was required", "consumers that count on it fail where it is missing, and those that check the old schema refuse the event")
	}
	switch {
	case had && has:
		c.compare(was, is, field)
	case had && n.closed:
		c.tell(Breaking, field, "is gone", refused+"; consumers that read it find nothing")
	case had:
		c.tell(Breaking, field, "is gone", "consumers that read it find nothing, or what no schema checked")
	case has && !needs && o.closed:
		c.tell(Breaking, field, "is new", "the old schema allows no other fields: consumers that check it refuse the event")
	case has && !needs:
		c.tell(Additive, field, "is new, and optional", "consumers that do not know it pass over it")
	}
}

// bounds compares limits that are tightened by growing (sign 1) or by shrinking
// (sign -1).
func (c *comparison) bounds(was, is map[string]*big.Rat, sign int, field string) {
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		o, n := was[name], is[name]
		switch {
		case o == nil:
			c.tell(Breaking, field, "has "+name+" "+n.RatString(), refused)
		case n == nil:
			c.tell(Breaking, field, "has "+name+" "+o.RatString()+" no more", misread)
		case n.Cmp(o) == sign:
			c.tell(Breaking, field, fmt.Sprintf("has %s %s, was %s", name, n.RatString(), o.RatString()), refused)
		case n.Cmp(o) == -sign:
			c.tell(Breaking, field, fmt.Sprintf("has %s %s, was %s", name, n.RatString(), o.RatString()), misread)
		}
	}
}

// keywords names what the rules that are not common to both are about.
func keywords(was, is []string) string {
	var names []string
	for _, lists := range [][2][]string{{was, is}, {is, was}} {
		for _, rule := range lists[0] {
			if name, _, _ := strings.Cut(rule, " "); !slices.Contains(lists[1], rule) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
