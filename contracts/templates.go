package contracts

import (
	"regexp"
	"slices"
	"strconv"
	"text/template"
	"text/template/parse"

	"go.yaml.in/yaml/v3"
)

// Template is the text of a message that a job is about, in the language of Go's
// text/template. It sees .event, the domain event's fields, .orgId and .recipientId.
type Template struct {
	Title string // of one line
	Body  string
}

// What a template sees, and what it sees of an event.
var (
	templateData  = []string{"event", "orgId", "recipientId"}
	templateEvent = []string{"eventId", "orgId", "eventType", "entityType", "entityId", "actor", "timestamp", "payload", "visibility"}
)

// maxTemplateID keeps the ID usable in a job's key.
const maxTemplateID = 200

func (p *catalogParser) parseTemplates(top *section) {
	templates := p.r.open(top.get("templates"), "templates")
	if templates == nil {
		return
	}
	p.cat.Templates = make(map[string]Template, len(templates.entries))
	for _, e := range templates.entries {
		if e.name == "" || len(e.name) > maxTemplateID || !printable(e.name) {
			p.r.fault(e.key, "rename it", "template %q is no ID of 1 to %d printable bytes", e.name, maxTemplateID)
		}
		if e.value.Tag == "!!null" {
			continue // told already
		}
		s := p.r.open(e.value, "template "+e.name, "title", "body")
		p.cat.Templates[e.name] = Template{p.templateText(s, "title"), p.templateText(s, "body")}
	}
}

// templateText reads a part of a template, and checks it.
func (p *catalogParser) templateText(s *section, part string) string {
	n := s.require(part)
	text := s.text(part, n)
	if text == "" {
		return ""
	}
	parsed, err := template.New(part).Parse(text)
	if err != nil {
		line, problem := templateFault(err.Error())
		p.r.fault(within(n, line), "mend the template", "%s: %s: %s", s.where, part, problem)
		return text
	}
	if parsed.Tree != nil {
		p.templateFields(s, part, n, parsed.Root)
	}
	return text
}

// templateFields names fields that no message has. What stands within a range or a
// with sees another value, so that only its variable $ is looked at.
func (p *catalogParser) templateFields(s *section, part string, n *yaml.Node, root parse.Node) {
	walkTemplate(root, func(path []string) {
		switch {
		case !slices.Contains(templateData, path[0]):
			p.r.fault(n, "use .event, .orgId or .recipientId", "%s: %s: a message has no .%s", s.where, part, path[0])
		case path[0] == "event" && len(path) > 1 && !slices.Contains(templateEvent, path[1]):
			p.r.fault(n, "look below .event.payload, or use one of "+joined(templateEvent), "%s: %s: a domain event has no field %s", s.where, part, path[1])
		}
	})
}

// walkTemplate tells each field of the message that a node names.
func walkTemplate(node parse.Node, told func(path []string)) { templateWalk{told}.node(node, true) }

type templateWalk struct{ told func(path []string) }

// node walks. root says that the dot is the message.
func (w templateWalk) node(node parse.Node, root bool) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			w.node(child, root)
		}
	case *parse.ActionNode:
		w.node(n.Pipe, root)
	case *parse.PipeNode:
		if n == nil {
			return
		}
		for _, command := range n.Cmds {
			for _, arg := range command.Args {
				w.node(arg, root)
			}
		}
	case *parse.FieldNode:
		if root {
			w.told(n.Ident)
		}
	case *parse.VariableNode:
		if len(n.Ident) > 1 && n.Ident[0] == "$" {
			w.told(n.Ident[1:])
		}
	case *parse.ChainNode:
		w.node(n.Node, root)
	case *parse.IfNode:
		w.branch(&n.BranchNode, root, root)
	case *parse.WithNode:
		w.branch(&n.BranchNode, root, false)
	case *parse.RangeNode:
		w.branch(&n.BranchNode, root, false)
	}
}

func (w templateWalk) branch(n *parse.BranchNode, root, inside bool) {
	w.node(n.Pipe, root)
	w.node(n.List, inside)
	w.node(n.ElseList, root)
}

var templateErrorLine = regexp.MustCompile(`^template: [a-z]+:(\d+):(?:\d+:)? `)

// templateFault takes an error of the template's parser apart: its line, from 1, and what it says.
func templateFault(text string) (line int, problem string) {
	m := templateErrorLine.FindStringSubmatch(text)
	if m == nil {
		return 1, text
	}
	line, _ = strconv.Atoi(m[1])
	return line, text[len(m[0]):]
}

// within is the place of a line of a text. Only a literal one has its lines in the file.
func within(n *yaml.Node, line int) *yaml.Node {
	if n.Style&yaml.LiteralStyle == 0 {
		return n
	}
	return &yaml.Node{Line: n.Line + line}
}
