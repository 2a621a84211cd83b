package contracts

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// declared is an event route with the place where it is written.
type declared struct {
	*EventRoute
	node *yaml.Node
}

func (p *catalogParser) parseOutboxes(top *section) {
	every := p.parseEvents(top, "everyOutbox", top.get("everyOutbox"), "every outbox")
	beside := p.checkBeside("every outbox", every, nil)
	for i, n := range top.list("outboxes", top.require("outboxes")) {
		p.parseOutbox(i, n, every, beside)
	}
	if p.routes > maxRoutes {
		p.r.fault(top.node, "split the service", "the outboxes have %d events with those of everyOutbox in each, more than %d", p.routes, maxRoutes)
	}
	if n := top.get("outboxes"); n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		p.r.fault(n, "declare one", "the catalog has no outbox")
	}
}

func (p *catalogParser) parseOutbox(i int, n *yaml.Node, every []declared, beside *beside) {
	where := fmt.Sprintf("outbox %d", i+1)
	s := p.r.open(n, where, "name", "slice", "onDelivered", "retention", "shards", "events")
	if s == nil {
		return
	}
	nameNode := s.require("name")
	o := &Outbox{Name: s.text("name", nameNode)}
	if o.Name != "" {
		s.where = "outbox " + o.Name
		if problem := collectionProblem(o.Name); problem != "" {
			p.r.fault(nameNode, "rename it", "outbox %q %s", o.Name, problem)
		}
		if p.outboxes[o.Name] != nil {
			p.r.fault(nameNode, "join the two", "outbox %s is declared twice", o.Name)
		}
	}
	sliceNode := s.require("slice")
	o.Slice = s.text("slice", sliceNode)
	if len(o.Slice) > MaxAttributeBytes || !printable(o.Slice) {
		p.r.fault(sliceNode, "shorten it to plain text", "%s: slice is longer than 1024 bytes or not printable", s.where)
	}
	o.OnDelivered = MarkDelivered
	if n := s.get("onDelivered"); n != nil {
		o.OnDelivered = OnDelivered(s.text("onDelivered", n))
		if o.OnDelivered != "" && o.OnDelivered != MarkDelivered && o.OnDelivered != DeleteDelivered {
			p.r.fault(n, "use mark or delete", "%s: onDelivered %q is unknown", s.where, o.OnDelivered)
		}
	}
	o.Retention = s.duration("retention", defaultRetention, time.Second)
	o.Shards = int(s.integer("shards", 1, maxShards))
	p.checkShares(nameNode, o)
	events := p.parseEvents(s, "events", s.require("events"), s.where)
	p.join(s, o, events, every, beside)
	p.cat.Outboxes = append(p.cat.Outboxes, o)
	if p.outboxes[o.Name] == nil {
		p.outboxes[o.Name] = o
	}
}

// checkShares names the outboxes declared before whose shares o's would be
// mistaken for, as box.0 would for the first of a box with shards.
func (p *catalogParser) checkShares(n *yaml.Node, o *Outbox) {
	for _, share := range o.Shares() {
		for _, name := range OutboxesOf(share.String()) {
			other := p.outboxes[name]
			if other != nil && name != o.Name && slices.ContainsFunc(other.Shares(), func(s Share) bool { return s.String() == share.String() }) {
				p.r.fault(n, "rename one", "outbox %s and outbox %s would both have a share %s", o.Name, name, share)
			}
		}
	}
}

// join gives o its own events and those of every outbox, and checks them
// against each other.
func (p *catalogParser) join(s *section, o *Outbox, own, every []declared, beside *beside) {
	if p.routes += len(own) + len(every); p.routes > maxRoutes {
		return
	}
	p.checkBeside(s.where, own, beside)
	if n := s.get("events"); n != nil && len(n.Content)+len(every) == 0 {
		p.r.fault(s.node, "declare one", "%s has no event", s.where)
	}
	for _, d := range slices.Concat(own, every) {
		o.Events = append(o.Events, d.EventRoute)
	}
	slices.SortStableFunc(o.Events, func(a, b *EventRoute) int { return routeRank(a.Type) - routeRank(b.Type) })
	p.warnTwoLanes(s, o)
}

// warnTwoLanes warns of targets that are fed from two lanes of one outbox:
// records of one aggregate may overtake each other on the way there.
func (p *catalogParser) warnTwoLanes(s *section, o *Outbox) {
	lanes := make(map[string][]string)
	var targets []string
	for _, e := range o.Events {
		for _, t := range e.Targets {
			if lanes[t] == nil {
				targets = append(targets, t)
			}
			if e.Lane.Valid() && !slices.Contains(lanes[t], string(e.Lane)) {
				lanes[t] = append(lanes[t], string(e.Lane))
			}
		}
	}
	for _, t := range targets {
		if len(lanes[t]) > 1 {
			p.r.warn(s.node, "use one lane for it, or accept that order is kept within each lane only",
				"%s feeds target %s from %s: the order of an aggregate is not kept across lanes", s.where, t, strings.Join(lanes[t], " and "))
		}
	}
}

func (p *catalogParser) parseEvents(s *section, key string, n *yaml.Node, of string) []declared {
	var out []declared
	for i, item := range s.list(key, n) {
		e := p.r.open(item, fmt.Sprintf("event %d of %s", i+1, of), "type", "version", "deprecatedOn", "lane", "tier", "targets",
			"consumers", "schema", "idempotencyKey", "aggregateId", "twoPersonRule", "revokeTokens")
		if e != nil {
			out = append(out, declared{p.parseEvent(e, of), item})
		}
	}
	return out
}

func (p *catalogParser) parseEvent(s *section, of string) *EventRoute {
	typeNode := s.require("type")
	e := &EventRoute{Type: s.text("type", typeNode)}
	if e.Type != "" {
		s.where = fmt.Sprintf("event %s of %s", e.Type, of)
		if problem := eventTypeProblem(e.Type); problem != "" {
			p.r.fault(typeNode, "rename it", "%s: type %s", s.where, problem)
		}
	}
	e.Version = p.parseVersion(s, e.Type)
	e.DeprecatedOn = s.date("deprecatedOn")
	laneNode := s.require("lane")
	if e.Lane = Lane(s.text("lane", laneNode)); e.Lane != "" && !e.Lane.Valid() {
		p.r.fault(laneNode, "use one of "+joined(Lanes()), "%s: lane %q is unknown", s.where, e.Lane)
	}
	tierNode := s.require("tier")
	if e.Tier = Tier(s.text("tier", tierNode)); e.Tier != "" && !e.Tier.Valid() {
		p.r.fault(tierNode, "use one of "+joined(Tiers()), "%s: tier %q is unknown", s.where, e.Tier)
	}
	e.Targets = p.parseTargetNames(s)
	e.Consumers = p.parseConsumers(s)
	if n := s.get("schema"); n != nil {
		e.SchemaName = s.text("schema", n)
		if e.SchemaName != "" {
			var err error
			if e.Schema, err = p.schemas.compile(e.SchemaName); err != nil {
				p.r.fault(n, "mend the schema's file or name another", "%s: schema %s: %v", s.where, e.SchemaName, err)
			} else {
				p.warnWords(s, n, e)
			}
		}
	}
	e.Key, e.Aggregate = p.parseKey(s, e), p.parseAggregate(s, e)
	e.TwoPersonRule = s.flag("twoPersonRule", false)
	if e.TwoPersonRule && e.Tier.Valid() && e.Tier != SecurityBlock {
		p.r.fault(s.get("twoPersonRule"), "remove it, or use tier "+string(SecurityBlock), "%s: twoPersonRule is for tier %s alone", s.where, SecurityBlock)
	}
	e.RevokeTokens = s.flag("revokeTokens", false)
	if e.RevokeTokens && p.targetsAllKnown(e) && !p.cat.hasHandler(e) {
		p.r.fault(s.get("revokeTokens"), "remove it, or name a target of kind handler", "%s: revokeTokens is for events with a handler target alone", s.where)
	}
	return e
}

// warnWords warns of what in e's schema a producer's library judges otherwise.
func (p *catalogParser) warnWords(s *section, n *yaml.Node, e *EventRoute) {
	for _, w := range SchemaWords(p.schemas.read, e.Schema) {
		p.r.warn(n, w.Remedy, "%s: schema %s: %s", s.where, w.Place, w.Problem)
	}
}

// targetsAllKnown reports that each target of e was read, so that its kind can
// be judged.
func (p *catalogParser) targetsAllKnown(e *EventRoute) bool {
	return !slices.ContainsFunc(e.Targets, func(name string) bool { return p.cat.Targets[name].Kind == "" })
}

// parseVersion reads the version of a payload contract: an exact type has
// version 1 and a pattern any, unless it says otherwise.
func (p *catalogParser) parseVersion(s *section, eventType string) int64 {
	if n := s.get("version"); n != nil && n.Tag == "!!str" && n.Value == anyVersion {
		return 0
	}
	if isPattern(eventType) && !s.has("version") {
		return 0
	}
	return s.integer("version", 1, math.MaxInt64)
}

func (p *catalogParser) parseTargetNames(s *section) []string {
	n := s.require("targets")
	items := s.list("targets", n)
	if n != nil && n.Kind == yaml.SequenceNode && len(items) == 0 {
		p.r.fault(n, "name one", "%s has no target", s.where)
	}
	var names []string
	seen := make(map[string]bool)
	for _, item := range items {
		name := s.text("targets", item)
		_, known := p.targets[name]
		switch {
		case name == "":
			continue
		case seen[name]:
			p.r.fault(item, "keep one of them", "%s names target %s twice", s.where, name)
			continue
		case !known:
			p.r.fault(item, "declare it under targets", "%s: target %q is unknown", s.where, name)
		}
		p.used[name], seen[name] = true, true
		names = append(names, name)
	}
	return names
}

// routeRank sorts exact types before patterns, and longer patterns before
// shorter ones.
func routeRank(eventType string) int {
	if !isPattern(eventType) {
		return -1 << 30
	}
	return -len(eventType)
}

func joined[T ~string](names []T) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = string(n)
	}
	return strings.Join(parts, ", ")
}
