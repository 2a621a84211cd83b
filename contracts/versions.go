package contracts

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// compareVersions names what keeps two versions of one event type from standing
// side by side.
func (p *catalogParser) compareVersions(where string, a, b declared) {
	if a.Version == 0 || b.Version == 0 {
		p.r.fault(a.node, "give both a version of their own", "%s: event %s is declared for any version beside one version, also in line %d", where, a.Type, b.node.Line)
		return
	}
	for _, part := range [...]struct {
		name  string
		equal bool
		why   string
	}{
		{"lane", a.Lane == b.Lane, "the order of an aggregate is kept within a lane"},
		{"tier", a.Tier == b.Tier, "operators know the tier by the event type"},
		{"twoPersonRule", a.TwoPersonRule == b.TwoPersonRule, "operators know it by the event type"},
		{"revokeTokens", a.RevokeTokens == b.RevokeTokens, "it is a matter of the event type"},
	} {
		if !part.equal {
			p.r.fault(a.node, "make them equal: "+part.why, "%s: versions %d and %d of event %s, the latter in line %d, differ in %s",
				where, a.Version, b.Version, a.Type, b.node.Line, part.name)
		}
	}
	if a.Key == b.Key && a.Key != "" && !a.Key.names(FieldEventVersion) && !a.Key.names(FieldEventID) {
		p.r.fault(a.node, "add {"+FieldEventVersion+"} to that of the newer", "%s: versions %d and %d of event %s, the latter in line %d, have the same idempotencyKey: an event could be appended in one of them only",
			where, a.Version, b.Version, a.Type, b.node.Line)
	}
	for _, consumer := range a.Consumers {
		if slices.Contains(b.Consumers, consumer) {
			p.r.warn(a.node, "name it in one of them, or see to it that it acts on one", "%s: consumer %s is named by versions %d and %d of event %s: while both are published it is told everything twice",
				where, consumer, a.Version, b.Version, a.Type)
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
	for _, item := range items {
		name := s.text("consumers", item)
		problem := targetProblem(name)
		switch {
		case name == "":
		case problem != "":
			p.r.fault(item, "rename it", "%s: consumer %q %s", s.where, name, problem)
		case slices.Contains(names, name):
			p.r.fault(item, "keep one of them", "%s names consumer %s twice", s.where, name)
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
