package outbox

import (
	"slices"
	"strconv"
	"strings"

	"outboxrelay/contracts"
)

// outboxOf finds the outbox of an event that names none: the only one that declares
// its type by name. A pattern does not count, as it would take a misspelt type of
// somebody else's.
func outboxOf(catalog *contracts.Catalog, e *Event) (*contracts.Outbox, *contracts.Fault) {
	if e.Outbox != "" {
		return catalog.Outbox(e.Outbox), nil // Check names one that is not declared
	}
	var found []*contracts.Outbox
	var names []string
	for _, o := range catalog.Outboxes {
		if slices.ContainsFunc(o.Events, func(r *contracts.EventRoute) bool { return r.Type == e.Type && !strings.Contains(r.Type, "*") }) {
			found, names = append(found, o), append(names, o.Name)
		}
	}
	switch {
	case e.Type == "":
		return nil, &contracts.Fault{Field: contracts.FieldEventType, Problem: "is empty"}
	case len(found) == 0:
		return nil, &contracts.Fault{Field: contracts.FieldEventType, Problem: "is " + quoted(e.Type) + ", which no outbox declares by name: name the outbox"}
	case len(found) > 1:
		return nil, &contracts.Fault{Field: contracts.FieldEventType, Problem: "is declared by " + strings.Join(names, ", ") + ": name the outbox"}
	}
	return found[0], nil
}

// quoted quotes what a caller gave, shortened.
func quoted(s string) string {
	const most = 100
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
