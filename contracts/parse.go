package contracts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxCatalogBytes bounds a catalog file.
const maxCatalogBytes = 1 << 20

// ParseCatalog reads a catalog from YAML. name is what faults call the file,
// and schemas is where its schema files are looked up. Every fault is reported
// at once, as a *CatalogError: the first 1,000, and how many more there are. What
// may merely surprise is in Warnings.
func ParseCatalog(name string, data []byte, schemas fs.FS) (*Catalog, error) {
	p := &catalogParser{schemas: newSchemaSet(schemas)}
	cat := p.parse(data)
	warnings := faultLines(name, p.r.warnings)
	if len(p.r.faults) > 0 {
		e := &CatalogError{File: name, Faults: p.r.faults}
		faultLines(name, e.Faults) // sorts
		if p.r.more > 0 {
			last := e.Faults[len(e.Faults)-1].Line
			e.Faults = append(e.Faults, CatalogFault{last, fmt.Sprintf("%d more faults were found", p.r.more), "mend those above first"})
		}
		return nil, e
	}
	cat.Warnings = warnings
	cat.SchemaFiles = p.schemas.read
	return cat, nil
}

type catalogParser struct {
	r        yamlReader
	schemas  *schemaSet
	cat      *Catalog
	targets  map[string]*yaml.Node  // declared targets
	used     map[string]bool        // targets that some event names
	keyed    map[KeyTemplate]string // the first event type with a key
	outboxes map[string]*Outbox     // the first of each name
	routes   int                    // events of all outboxes, with those of everyOutbox in each
}

func (p *catalogParser) parse(data []byte) *Catalog {
	p.cat = &Catalog{Lanes: defaultLanes(), Retry: defaultRetry(), Replay: defaultReplay(), Targets: make(map[string]TargetSpec)}
	p.targets, p.used, p.keyed = make(map[string]*yaml.Node), make(map[string]bool), make(map[KeyTemplate]string)
	p.outboxes = make(map[string]*Outbox)
	root := p.document(data)
	top := p.r.open(root, "catalog", "lanes", "targets", "retry", "replay", "everyOutbox", "outboxes", "templates")
	if top == nil {
		return nil
	}
	p.parseLanes(top)
	p.parseTargets(top)
	p.parseRetry(top)
	p.parseReplay(top)
	p.parseOutboxes(top)
	p.parseTemplates(top)
	p.warnUnused()
	return p.cat
}

// document returns the root of the file's only YAML document, or nil.
func (p *catalogParser) document(data []byte) *yaml.Node {
	if len(data) > maxCatalogBytes {
		p.r.fault(&yaml.Node{Line: 1}, "name another file or split the service", "the file is larger than 1 MiB")
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		p.r.fault(&yaml.Node{Line: 1}, "write targets and outboxes", "the file is empty")
		return nil
	case err != nil:
		p.syntax(err)
		return nil
	}
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.syntax(err)
	default:
		p.r.fault(&more, "keep one", "the file holds a second document")
	}
	root := resolve(doc.Content[0])
	if writtenOut(root) > maxValues {
		p.r.fault(root, "split the service", "the catalog comes to more than %d values with its aliases written out", maxValues)
		return nil
	}
	return root
}

var yamlErrorLine = regexp.MustCompile(`^yaml: line (\d+): `)

func (p *catalogParser) syntax(err error) {
	text, line := err.Error(), 1
	if m := yamlErrorLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	p.r.fault(&yaml.Node{Line: line}, "mend the syntax", "not YAML: %s", text)
}

func (p *catalogParser) parseLanes(top *section) {
	names := make([]string, 0, 3)
	for _, l := range Lanes() {
		names = append(names, string(l))
	}
	lanes := p.r.open(top.get("lanes"), "lanes", names...)
	for _, l := range Lanes() {
		def := p.cat.Lanes[l]
		s := p.r.open(lanes.get(string(l)), "lane "+string(l),
			"sla", "workers", "run", "window", "inFlight", "inFlightMiB", "settleLinger")
		p.cat.Lanes[l] = LanePolicy{
			SLA:          s.duration("sla", def.SLA, time.Millisecond),
			Workers:      int(s.integer("workers", int64(def.Workers), 10_000)),
			Run:          int(s.integer("run", int64(def.Run), 100_000)),
			Window:       int(s.integer("window", int64(def.Window), 100_000)),
			InFlight:     int(s.integer("inFlight", int64(def.InFlight), 10_000_000)),
			InFlightMiB:  int(s.integer("inFlightMiB", int64(def.InFlightMiB), 10_000)),
			SettleLinger: s.duration("settleLinger", def.SettleLinger, 0),
		}
	}
}

func (p *catalogParser) parseTargets(top *section) {
	targets := p.r.open(top.require("targets"), "targets")
	if targets == nil {
		return
	}
	for _, e := range targets.entries {
		p.targets[e.name] = e.key
		if problem := targetProblem(e.name); problem != "" {
			p.r.fault(e.key, "rename it", "target %q %s", e.name, problem)
		}
		if e.value.Tag != "!!null" {
			p.parseTarget(e)
		}
	}
}

func (p *catalogParser) parseTarget(e yamlEntry) {
	s := p.r.open(e.value, "target "+e.name, "kind", "topic", "ratePerSecond")
	if s == nil {
		return
	}
	kindNode := s.require("kind")
	spec := TargetSpec{Name: e.name, Kind: TargetKind(s.text("kind", kindNode))}
	switch spec.Kind {
	case KindPubSub:
		spec.Topic = p.topic(s, e.name, s.require("topic"))
		if n := s.get("ratePerSecond"); n != nil {
			p.r.fault(n, "remove the rate or make the kind handler", "target %s: a topic has no ratePerSecond", e.name)
		}
	case KindHandler:
		if n := s.get("topic"); n != nil {
			p.r.fault(n, "remove the topic or make the kind pubsub", "target %s: a handler has no topic", e.name)
		}
		spec.RatePerSecond = s.number("ratePerSecond", defaultHandlerRate, 0.001, 100_000)
	default: // either kind's settings are judged, so that all faults are told at once
		if spec.Kind != "" { // else named already
			p.r.fault(kindNode, "use pubsub or handler", "target %s: kind %q is unknown", e.name, spec.Kind)
		}
		spec.Topic = p.topic(s, e.name, s.get("topic"))
		spec.RatePerSecond = s.number("ratePerSecond", defaultHandlerRate, 0.001, 100_000)
	}
	p.cat.Targets[e.name] = spec
}

func (p *catalogParser) topic(s *section, target string, n *yaml.Node) string {
	topic := s.text("topic", n)
	if problem := topicProblem(topic); topic != "" && problem != "" {
		p.r.fault(n, "name another topic", "target %s: topic %q %s", target, topic, problem)
	}
	return topic
}

func (p *catalogParser) parseRetry(top *section) {
	s, def := p.r.open(top.get("retry"), "retry", "maxAttempts", "initial", "max", "multiplier"), p.cat.Retry
	p.cat.Retry = RetryPolicy{
		MaxAttempts: int(s.integer("maxAttempts", int64(def.MaxAttempts), 1000)),
		Initial:     s.duration("initial", def.Initial, time.Millisecond),
		Max:         s.duration("max", def.Max, time.Millisecond),
		Multiplier:  s.number("multiplier", def.Multiplier, 1, 1000),
	}
	if r := p.cat.Retry; s != nil && r.Max < r.Initial {
		p.r.fault(s.node, "raise max or lower initial", "retry: max is %v, less than initial, %v", r.Max, r.Initial)
	}
}

func (p *catalogParser) parseReplay(top *section) {
	s := p.r.open(top.get("replay"), "replay", "delays", "ratePerSecond")
	p.cat.Replay.RatePerSecond = s.number("ratePerSecond", p.cat.Replay.RatePerSecond, 0.001, 100_000)
	if n := s.get("delays"); n != nil {
		p.cat.Replay.Delays = nil
		if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			// Without a time their dead letters would stand as scheduled for ever.
			s.r.fault(n, "name one delay or more; give tier REVIEW_REQUIRED to the event types that must not be replayed by themselves", "%s: delays is empty", s.where)
		}
		for _, item := range s.list("delays", n) {
			p.cat.Replay.Delays = append(p.cat.Replay.Delays, s.durationOf("delays", item, time.Millisecond))
		}
	}
}

// warnUnused warns of targets that no event names.
func (p *catalogParser) warnUnused() {
	for _, name := range slices.Sorted(maps.Keys(p.targets)) {
		if !p.used[name] {
			p.r.warn(p.targets[name], "name it in an event or remove it", "target %s is used by no event", name)
		}
	}
}
