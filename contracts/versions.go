package contracts

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// checkVersion names what keeps d from standing beside other versions of its type, of which
// first is the first.
func (b *beside) checkVersion(d, first declared) {
	if d.Version == 0 || first.Version == 0 {
		b.r.fault(d.node, "give both a version of their own", "%s: event %s is declared for any version beside one version, also in line %d", b.where, d.Type, first.node.Line)
		return
	}
	for _, part := range [...]struct {
		name  string
		equal bool
		why   string
	}{
		{"lane", d.Lane == first.Lane, "the order of an aggregate is kept within a lane"},
		{"tier", d.Tier == first.Tier, "operators know the tier by the event type"},
		{"twoPersonRule", d.TwoPersonRule == first.TwoPersonRule, "operators know it by the event type"},
		{"revokeTokens", d.RevokeTokens == first.RevokeTokens, "it is a matter of the event type"},
	} {
		if !part.equal {
			b.r.fault(d.node, "make them equal: "+part.why, "%s: versions %d and %d of event %s, the latter in line %d, differ in %s",
				b.where, d.Version, first.Version, d.Type, first.node.Line, part.name)
		}
	}
	if same, ok := b.look(ofKey(d)); ok && d.Key != "" && !d.Key.names(FieldEventVersion) && !d.Key.names(FieldEventID) {
		b.r.fault(d.node, "add {"+FieldEventVersion+"} to that of the newer", "%s: versions %d and %d of event %s, the latter in line %d, have the same idempotencyKey: an event could be appended in one of them only",
			b.where, d.Version, same.Version, d.Type, same.node.Line)
	}
	for _, consumer := range d.Consumers {
		if other, ok := b.look(ofConsumer(d, consumer)); ok {
			b.r.warn(d.node, "name it in one of them, or see to it that it acts on one", "%s: consumer %s is named by versions %d and %d of event %s: while both are published it is told everything twice",
				b.where, consumer, d.Version, other.Version, d.Type)
		}
	}
}

// parseConsumers reads the names of those who act on an event, sorted.
func (p *catalogParser) parseConsumers(s *section) []string {
	n := s.get("consumers")
	items := s.list("consumers", n)
	if n != nil && n.Kind == yaml.SequenceNode && len(items) == 0 {
		p.r.fault(n, "name one or leave the key out", "%s: consumers is empty", s.where)
	}
	var names []string
	seen := make(map[string]bool)
	for _, item := range items {
		name := s.text("consumers", item)
		problem := targetProblem(name)
		switch {
		case name == "":
		case problem != "":
			p.r.fault(item, "rename it", "%s: consumer %q %s", s.where, name, problem)
		case seen[name]:
			p.r.fault(item, "keep one of them", "%s names consumer %s twice", s.where, name)
		default:
			names, seen[name] = append(names, name), true
		}
	}
	slices.Sort(names)
	return names
}
