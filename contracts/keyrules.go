package contracts

import (
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// keyPath is a path of plain names below the payload.
var keyPath = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*([.][A-Za-z_$][A-Za-z0-9_$-]*)*$`)

// parseKey reads an event's idempotencyKey. The default's text is the default.
func (p *catalogParser) parseKey(s *section, e *EventRoute) KeyTemplate {
	const key = "idempotencyKey"
	n := s.get(key)
	t := KeyTemplate(s.text(key, n))
	if t == "" || t == DefaultKey {
		return ""
	}
	if p.checkTemplate(s, key, n, t, e, keyFields) && !t.readsPayload() && !t.names(FieldEventID) && !t.names(FieldAggregateVersion) {
		p.r.fault(n, "add {"+FieldAggregateVersion+"}, or what tells them apart in the payload",
			"%s: %s is the same for all records of an aggregate", s.where, key)
	}
	if first, ok := p.keyed[t]; ok && first != e.Type && !t.names(FieldEventID) && !t.names(FieldEventType) {
		p.r.warn(n, "add {"+FieldEventType+"} to one, unless the values always differ",
			"%s and event %s have the same %s: a record of the one may be taken for one of the other", s.where, first, key)
	} else if !ok {
		p.keyed[t] = e.Type
	}
	return t
}

// parseAggregate reads an event's aggregateId.
func (p *catalogParser) parseAggregate(s *section, e *EventRoute) KeyTemplate {
	const key = "aggregateId"
	n := s.get(key)
	t := KeyTemplate(s.text(key, n))
	if t != "" {
		p.checkTemplate(s, key, n, t, e, nil)
	}
	return t
}

// checkTemplate names what is wrong with a template, which may name fields and
// what the payload is sure to hold. It reports whether nothing is.
func (p *catalogParser) checkTemplate(s *section, key string, n *yaml.Node, t KeyTemplate, e *EventRoute, fields []string) bool {
	before := len(p.r.faults)
	choices := make([]string, 0, len(fields)+1)
	for _, f := range fields {
		choices = append(choices, "{"+f+"}")
	}
	choices = append(choices, "{payload.name}")
	use := "use " + strings.Join(choices, ", ")
	if !printable(string(t)) {
		p.r.fault(n, "write plain text", "%s: %s holds characters that are not printable", s.where, key)
	}
	found := false
	for part, placeholder := range t.parts() {
		path, inPayload := strings.CutPrefix(part, payloadPrefix)
		switch {
		case !placeholder && strings.ContainsAny(part, "{}"), placeholder && strings.Contains(part, "{"):
			p.r.fault(n, use, "%s: %s has a brace without its other", s.where, key)
		case !placeholder:
		case inPayload && keyPath.MatchString(path):
			p.checkPayloadPath(s, key, n, e, path)
		case !slices.Contains(fields, part):
			p.r.fault(n, use, "%s: %s names {%s}, which it cannot be made of", s.where, key, part)
		}
		found = found || placeholder
	}
	if !found && len(p.r.faults) == before {
		p.r.fault(n, use, "%s: %s is the same for all records", s.where, key)
	}
	return len(p.r.faults) == before
}

// checkPayloadPath names what keeps a payload that its schema allows from having
// a value at path that a key can be made of. Without a schema nobody knows.
func (p *catalogParser) checkPayloadPath(s *section, key string, n *yaml.Node, e *EventRoute, path string) {
	switch {
	case e.SchemaName == "":
		p.r.warn(n, "give the event a schema that requires it", "%s: %s names {payload.%s}, and the event has no schema: a record without it breaks the contract", s.where, key, path)
		return
	case e.Schema == nil: // named already
		return
	}
	at, names := jsonPath(FieldPayload), strings.Split(path, ".")
	places := []*jsonschema.Schema{e.Schema}
	for i, name := range names {
		places = SchemaParts(places...)
		if !slices.ContainsFunc(places, func(s *jsonschema.Schema) bool { return slices.Contains(s.Required, name) }) {
			p.r.fault(n, "require it there", "%s: %s names {payload.%s}, and schema %s does not require %s", s.where, key, path, e.SchemaName, at.key(name))
			return
		}
		at = at.key(name)
		var next []*jsonschema.Schema
		for _, place := range places {
			if property := place.Properties[name]; property != nil {
				next = append(next, property)
			}
		}
		places = next
		want, wanted := []string{"object"}, "an object"
		if i == len(names)-1 {
			want, wanted = []string{"string", "integer", "boolean"}, "a string, an integer or a boolean"
		}
		types, _ := SchemaTypes(places...)
		if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return !slices.Contains(want, t) }) {
			p.r.fault(n, "let nothing else be there", "%s: %s names {payload.%s}, and schema %s does not say that %s is %s", s.where, key, path, e.SchemaName, at, wanted)
			return
		}
	}
}
