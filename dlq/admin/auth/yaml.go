package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"outboxrelay/dlq"
)

// maxRolesBytes bounds the roles file: tens of thousands of addresses.
const maxRolesBytes = 1 << 20

// parseRoles reads a roles file. Its error names every fault with its line.
//
//	roles:
//	  viewer: [carol@example.com]
//	  operator: [alice@example.com]
//	  security: [bob@example.com]
//
// or, under roles or identities, also beside the other form:
//
//	identities:
//	  alice@example.com: operator
//
// An address with several roles has the highest.
func parseRoles(data []byte, name string) (map[string]dlq.Role, error) {
	p := &rolesParser{name: name, byName: make(map[string]dlq.Role), identities: make(map[string]bool)}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		p.fault(1, "the file is empty: want roles: {viewer: [...], operator: [...], security: [...]}")
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	default:
		p.file(document.Content[0])
		if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
			p.fault(document.Line, "there is more than one YAML document")
		}
	}
	if len(p.faults) > 0 {
		return nil, errors.Join(p.faults...)
	}
	return p.byName, nil
}

type rolesParser struct {
	name   string
	byName map[string]dlq.Role
	faults []error
	// identities are those that stand with their role, each once.
	identities map[string]bool
}

func (p *rolesParser) fault(line int, format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf("%s:%d: %s", p.name, line, fmt.Sprintf(format, args...)))
}

func (p *rolesParser) file(node *yaml.Node) {
	found := false
	p.mapping(node, "the file", func(key, value *yaml.Node) {
		switch key.Value {
		case "roles":
			p.mapping(value, "roles", func(key, value *yaml.Node) {
				if strings.Contains(key.Value, "@") { // no role has one
					p.identity(key, value)
					return
				}
				p.role(key, value)
			})
		case "identities":
			p.mapping(value, "identities", p.identity)
		default:
			p.fault(key.Line, "%q is not known: the file holds roles or identities alone", key.Value)
			return
		}
		found = true
	})
	if !found && node.Kind == yaml.MappingNode {
		p.fault(node.Line, "roles is missing")
	}
}

// identity reads an address with its role.
func (p *rolesParser) identity(key, value *yaml.Node) {
	email, ok := address(key.Value)
	if key.Kind != yaml.ScalarNode || key.Tag != "!!str" || !ok {
		p.fault(key.Line, "%q is not an email address", key.Value)
		return
	}
	if p.identities[email] {
		p.fault(key.Line, "%s stands twice", email)
		return
	}
	p.identities[email] = true
	role, ok := dlq.ParseRole(value.Value)
	if value.Kind != yaml.ScalarNode || !ok {
		p.fault(value.Line, "role %q of %s is none of %v", value.Value, email, dlq.Roles())
		return
	}
	p.byName[email] = max(p.byName[email], role)
}

func (p *rolesParser) role(key, value *yaml.Node) {
	role, ok := dlq.ParseRole(key.Value)
	if !ok {
		p.fault(key.Line, "role %q is none of %v", key.Value, dlq.Roles())
		return
	}
	if value.Kind == yaml.ScalarNode && value.Tag == "!!null" { // "viewer:" with nobody below
		return
	}
	if value.Kind != yaml.SequenceNode {
		p.fault(value.Line, "role %s is not a list of addresses", key.Value)
		return
	}
	seen := make(map[string]bool)
	for _, n := range value.Content {
		email, ok := address(n.Value)
		switch {
		case n.Kind != yaml.ScalarNode || n.Tag != "!!str" || !ok:
			p.fault(n.Line, "%q is not an email address", n.Value)
			continue
		case seen[email]:
			p.fault(n.Line, "%s stands twice under %s", email, key.Value)
		}
		seen[email] = true
		p.byName[email] = max(p.byName[email], role)
	}
}

// mapping calls f for each entry, and refuses what is no mapping and keys that
// come twice.
func (p *rolesParser) mapping(node *yaml.Node, what string, f func(key, value *yaml.Node)) {
	if node.Kind != yaml.MappingNode {
		p.fault(node.Line, "%s is not a mapping", what)
		return
	}
	seen := make(map[string]bool)
	for n := 0; n+1 < len(node.Content); n += 2 {
		key, value := node.Content[n], node.Content[n+1]
		if seen[key.Value] {
			p.fault(key.Line, "%q stands twice", key.Value)
			continue
		}
		seen[key.Value] = true
		f(key, value)
	}
}
