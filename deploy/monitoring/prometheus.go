package monitoring

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// rulesFile is a rules file of Prometheus.
type rulesFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name     string `yaml:"name"`
	Interval string `yaml:"interval,omitempty"`
	Rules    []rule `yaml:"rules"`
}

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// recordingGroup is the group of what is recorded.
const recordingGroup = "relay-recordings"

// evaluated is how often rules are. It is longer than most intervals between
// scrapes, and no alert needs to be quicker.
const evaluated = 30 * time.Second

// generated stands at the head of generated files that may have comments.
const generated = "# Generated from package deploy/monitoring by go generate. Do not edit.\n"

// Rules writes the rules file of Prometheus. Playbooks are linked below a base.
func (d *Definition) Rules(base string) ([]byte, error) {
	recording := ruleGroup{Name: recordingGroup, Interval: promDuration(evaluated)}
	for _, r := range d.Recordings {
		recording.Rules = append(recording.Rules, rule{Record: r.Name, Expr: r.Expr})
	}
	file := rulesFile{Groups: []ruleGroup{recording}}
	for _, a := range d.Alerts {
		i := slices.IndexFunc(file.Groups, func(g ruleGroup) bool { return g.Name == a.Group })
		if i < 0 {
			i = len(file.Groups)
			file.Groups = append(file.Groups, ruleGroup{Name: a.Group, Interval: promDuration(evaluated)})
		}
		for _, r := range a.Rules {
			file.Groups[i].Rules = append(file.Groups[i].Rules, rule{
				Alert: a.Name, Expr: r.Expr.Recorded, For: promDuration(r.For), Labels: r.labels(),
				Annotations: a.annotations(base),
			})
		}
	}
	return encodeYAML(file)
}

func (r Rule) labels() map[string]string {
	labels := map[string]string{"severity": string(r.Severity)}
	maps.Copy(labels, r.Labels)
	return labels
}

func (a Alert) annotations(base string) map[string]string {
	return map[string]string{"summary": a.Summary, "description": a.Hurt, "runbook_url": base + "/" + a.Name + ".md"}
}

func encodeYAML(v any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generated)
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode yaml: %w", err)
	}
	return b.Bytes(), enc.Close()
}

// promDuration writes a duration as Prometheus does; "" for 0.
func promDuration(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
