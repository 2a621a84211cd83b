package monitoring

import (
	"time"

	"outboxrelay/contracts"
)

// Definition is all that is watched about a service with one catalog.
type Definition struct {
	Objectives []Objective
	Recordings []Recording
	Alerts     []Alert
	Dashboard  Dashboard
}

// Define returns what is watched about a service with that catalog.
func Define(catalog *contracts.Catalog) *Definition {
	objectives := objectivesOf(catalog)
	return &Definition{
		Objectives: objectives,
		Recordings: recordings(),
		Alerts:     alerts(objectives),
		Dashboard:  dashboard(objectives),
	}
}

// Expression is a query in two forms: for Prometheus, which may refer to what
// it records, and whole, for Cloud Monitoring, which records nothing.
type Expression struct {
	Recorded, Whole string
}

// expr is an expression that refers to nothing recorded.
func expr(text string) Expression { return Expression{text, text} }

// Recording is a query whose result Prometheus keeps under a name of its own.
type Recording struct {
	Name, Expr string
}

// Severity is how urgent an alert is.
type Severity string

// The severities of alerts.
const (
	Critical Severity = "critical" // wakes somebody
	Warning  Severity = "warning"  // is looked at in working hours
)

// Alert is something that a person has to be told. Its playbook in
// docs/playbooks goes by its name.
type Alert struct {
	Name  string
	Group string
	// Hurt says who suffers from what.
	Hurt string
	// Summary is a template of Prometheus's, with the labels of the result.
	Summary string
	Rules   []Rule // each by itself fires the alert
}

// Rule is one condition under which an alert fires.
type Rule struct {
	Expr     Expression
	For      time.Duration // for which it has to hold
	Severity Severity
	Title    string            // tells it from the others of its alert
	Labels   map[string]string // tell it from the others of its alert, beside its severity
}

// Playbook is where an alert's playbook stands in the repository.
func (a Alert) Playbook() string { return PlaybookDir + "/" + a.Name + ".md" }

// PlaybookDir is where the playbooks stand in the repository.
const PlaybookDir = "docs/playbooks"

// Expressions returns every query, whole: of recordings, alerts and dashboards.
func (d *Definition) Expressions() []string {
	var all []string
	for _, r := range d.Recordings {
		all = append(all, r.Expr)
	}
	for _, a := range d.Alerts {
		for _, r := range a.Rules {
			all = append(all, r.Expr.Whole)
		}
	}
	for _, s := range d.Dashboard.Sections {
		for _, p := range s.Panels {
			for _, q := range p.Queries {
				all = append(all, q.Expr)
			}
		}
	}
	return all
}
