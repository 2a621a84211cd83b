package contracts

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// yamlReader walks a catalog's YAML and collects every fault rather than the
// first. Aliases and merge keys are resolved on the way.
type yamlReader struct {
	faults   []CatalogFault // maxFaults at most
	more     int            // beyond them
	warnings []CatalogFault
	merged   map[*yaml.Node][]yamlEntry // mappings with their merge keys resolved
}

// yamlEntry is one key of a mapping.
type yamlEntry struct {
	name  string
	key   *yaml.Node
	value *yaml.Node // never an alias
}

// section is a mapping whose keys are known. A nil section answers every
// question with the default, so that the walk goes on behind a fault.
type section struct {
	r       *yamlReader
	where   string // how faults call it: "outbox accOutbox"
	node    *yaml.Node
	entries []yamlEntry
}

// maxFaults is how many faults are told one by one: each two events of a list can be one.
const maxFaults = 1000

func (r *yamlReader) fault(n *yaml.Node, remedy, format string, args ...any) {
	if len(r.faults) == maxFaults {
		r.more++
		return
	}
	r.faults = append(r.faults, CatalogFault{Line: n.Line, Problem: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (r *yamlReader) warn(n *yaml.Node, remedy, format string, args ...any) {
	r.warnings = append(r.warnings, CatalogFault{Line: n.Line, Problem: fmt.Sprintf(format, args...), Remedy: remedy})
}

// open reads n as a mapping. With known keys every other one is a fault;
// without, any key is fine. It returns nil when n is no mapping.
func (r *yamlReader) open(n *yaml.Node, where string, known ...string) *section {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "write it as key: value lines", "%s is %s, not a mapping", where, nodeType(n))
		return nil
	}
	s := &section{r: r, where: where, node: n, entries: r.flatten(n)}
	for _, e := range s.entries {
		switch {
		case len(known) > 0 && !slices.Contains(known, e.name):
			r.fault(e.key, "remove it or use one of "+strings.Join(known, ", "), "%s: unknown key %q", where, e.name)
		case e.value.Tag == "!!null":
			r.fault(e.key, "give it one or leave the key out", "%s: %q has no value", where, e.name)
		}
	}
	return s
}

// flatten returns n's keys with those merged in by "<<" behind its own.
func (r *yamlReader) flatten(n *yaml.Node) []yamlEntry {
	if done, ok := r.merged[n]; ok {
		return done
	}
	if r.merged == nil {
		r.merged = make(map[*yaml.Node][]yamlEntry)
	}
	r.merged[n] = nil // a mapping that merges itself adds nothing
	seen := make(map[string]bool)
	var own, inherited []yamlEntry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		if key.Tag == "!!merge" {
			inherited = append(inherited, r.mergeSources(value)...)
			continue
		}
		if key = resolve(key); key.Kind != yaml.ScalarNode {
			r.fault(key, "use plain text as key", "a key is %s", nodeType(key))
			continue
		}
		if seen[key.Value] {
			r.fault(key, "keep one of them", "duplicate key %q", key.Value)
			continue
		}
		seen[key.Value] = true
		own = append(own, yamlEntry{key.Value, key, value})
	}
	for _, e := range inherited {
		if !seen[e.name] {
			seen[e.name] = true
			own = append(own, e)
		}
	}
	r.merged[n] = own
	return own
}

// mergeSources returns the keys behind the value of a merge key.
func (r *yamlReader) mergeSources(value *yaml.Node) []yamlEntry {
	switch value.Kind {
	case yaml.MappingNode:
		return r.flatten(value)
	case yaml.SequenceNode:
		var all []yamlEntry
		for _, n := range value.Content {
			if n = resolve(n); n.Kind == yaml.MappingNode {
				all = append(all, r.flatten(n)...)
				continue
			}
			r.fault(n, "merge mappings only", "<< names %s", nodeType(n))
		}
		return all
	}
	r.fault(value, "merge mappings only", "<< names %s", nodeType(value))
	return nil
}

// has reports whether key is written, with a value or without.
func (s *section) has(key string) bool {
	return s != nil && slices.ContainsFunc(s.entries, func(e yamlEntry) bool { return e.name == key })
}

// get returns key's value, or nil when it is absent or null.
func (s *section) get(key string) *yaml.Node {
	if s == nil {
		return nil
	}
	for _, e := range s.entries {
		if e.name == key && e.value.Tag != "!!null" {
			return e.value
		}
	}
	return nil
}

// require is get, and a missing key is a fault.
func (s *section) require(key string) *yaml.Node {
	if s != nil && !s.has(key) {
		s.r.fault(s.node, "add it", "%s: key %q is missing", s.where, key)
	}
	return s.get(key)
}

// text reads n, the value of key, as text. A nil n is "".
func (s *section) text(key string, n *yaml.Node) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		s.r.fault(n, "write text, in quotes if need be", "%s: %s is %s, want text", s.where, key, nodeType(n))
		return ""
	}
	if n.Value == "" {
		s.r.fault(n, "give it a value", "%s: %s is empty", s.where, key)
	}
	return n.Value
}

// duration reads key as a duration of at least least; def when it is absent.
func (s *section) duration(key string, def, least time.Duration) time.Duration {
	n := s.get(key)
	if n == nil {
		return def
	}
	return s.durationOf(key, n, least)
}

func (s *section) durationOf(key string, n *yaml.Node, least time.Duration) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		s.r.fault(n, "write it like 500ms, 2s or 168h", "%s: %s is not a duration", s.where, key)
		return least
	}
	if d < least {
		s.r.fault(n, "raise it", "%s: %s is %v, less than %v", s.where, key, d, least)
		return least
	}
	return d
}

// integer reads key as an integer from 1 to most; def when it is absent.
func (s *section) integer(key string, def, most int64) int64 {
	const least = 1
	n := s.get(key)
	if n == nil {
		return def
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag != "!!int":
		s.r.fault(n, "write digits", "%s: %s is %s, want an integer", s.where, key, nodeType(n))
		return least
	case err != nil && !errors.Is(err, strconv.ErrRange): // as YAML has integers, too
		s.r.fault(n, "write digits", "%s: %s is %s, want decimal digits alone", s.where, key, n.Value)
		return least
	case err != nil || i < least || i > most:
		s.r.fault(n, fmt.Sprintf("use %d to %d", least, most), "%s: %s is %s, out of range", s.where, key, n.Value)
		return least
	}
	return i
}

// number reads key as a number from least to most; def when it is absent.
func (s *section) number(key string, def, least, most float64) float64 {
	n := s.get(key)
	if n == nil {
		return def
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" || err != nil {
		s.r.fault(n, "write digits", "%s: %s is no decimal number", s.where, key)
		return least
	}
	if !(f >= least && f <= most) {
		s.r.fault(n, fmt.Sprintf("use %v to %v", least, most), "%s: %s is %v, out of range", s.where, key, f)
		return least
	}
	return f
}

// date reads key as a day, at midnight UTC; zero when it is absent.
func (s *section) date(key string) time.Time {
	n := s.get(key)
	if n == nil {
		return time.Time{}
	}
	day, err := time.Parse(time.DateOnly, n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || day.IsZero() {
		s.r.fault(n, "write it like 2026-02-19", "%s: %s is not a day", s.where, key)
		return time.Time{}
	}
	return day
}

// flag reads true or false.
func (s *section) flag(key string, def bool) bool {
	n := s.get(key)
	if n == nil {
		return def
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		s.r.fault(n, "write true or false", "%s: %s is neither true nor false", s.where, key)
		return def
	}
	return strings.EqualFold(n.Value, "true")
}

// list reads n, the value of key, as a list. A nil n is an empty one.
func (s *section) list(key string, n *yaml.Node) []*yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		s.r.fault(n, "write it as - items or [a, b]", "%s: %s is %s, want a list", s.where, key, nodeType(n))
		return nil
	}
	items := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		items[i] = resolve(item)
	}
	return items
}

// resolve follows an alias to what it names.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// nodeType names what n is, for a fault.
func nodeType(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!str":
		return "text"
	case "!!int":
		return "an integer"
	case "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!null":
		return "empty"
	case "!!timestamp":
		return "a date"
	}
	return "of type " + n.Tag
}
