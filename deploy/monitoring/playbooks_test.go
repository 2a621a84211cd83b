package monitoring_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"outboxrelay/deploy/monitoring"
)

// sections are those that each playbook has, in this order.
var sections = []string{"What it means", "How to see", "What to do", "How to know it is over"}

func TestEachAlertHasAPlaybook(t *testing.T) {
	for _, a := range define(t).Alerts {
		data, err := fs.ReadFile(repository, a.Playbook())
		if err != nil {
			t.Error(err)
			continue
		}
		lines := strings.Split(string(data), "\n")
		if lines[0] != "# "+a.Name || lines[2] != a.Hurt {
			t.Errorf("%s begins with %q and %q, want its name and what is hurt: %q", a.Playbook(), lines[0], lines[2], a.Hurt)
		}
		var got []string
		for i, line := range lines {
			heading, ok := strings.CutPrefix(line, "## ")
			if !ok {
				continue
			}
			got = append(got, heading)
			if i+2 >= len(lines) || strings.HasPrefix(lines[i+2], "#") || lines[i+2] == "" {
				t.Errorf("%s says nothing under %q", a.Playbook(), heading)
			}
		}
		if !slices.Equal(got, sections) {
			t.Errorf("%s has the sections %q, want %q", a.Playbook(), got, sections)
		}
	}
}

func TestEachPlaybookHasAnAlert(t *testing.T) {
	found, err := fs.Glob(repository, monitoring.PlaybookDir+"/*.md")
	if err != nil || len(found) < 2 {
		t.Fatalf("playbooks: %v, %v", found, err)
	}
	for _, name := range found {
		alert := strings.TrimSuffix(path.Base(name), ".md")
		if alert != "README" && !slices.ContainsFunc(define(t).Alerts, func(a monitoring.Alert) bool { return a.Name == alert }) {
			t.Errorf("%s is of no alert", name)
		}
	}
}

// Playbooks send the reader to others by the name of their alerts.
func TestPlaybooksNameAlertsThatAre(t *testing.T) {
	alerts := define(t).Alerts
	for _, a := range alerts {
		data, err := fs.ReadFile(repository, a.Playbook())
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.FieldsFunc(string(data), func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' }) {
			if len(word) > len("Relay") && strings.HasPrefix(word, "Relay") && !slices.ContainsFunc(alerts, func(a monitoring.Alert) bool { return a.Name == word }) {
				t.Errorf("%s sends to %s, which is no alert", a.Playbook(), word)
			}
		}
	}
}

// Panels that playbooks put in quotes are those of the dashboard.
func TestPlaybooksNamePanelsThatAre(t *testing.T) {
	known := []string{"state", "ready", "healthy"} // fields of /readyz
	for _, s := range define(t).Dashboard.Sections {
		known = append(known, s.Title)
		for _, p := range s.Panels {
			known = append(known, p.Title)
		}
	}
	for _, a := range define(t).Alerts {
		data, err := fs.ReadFile(repository, a.Playbook())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range prose(string(data)) {
			for i, quoted := range strings.Split(text, `"`) {
				if i%2 == 1 && quoted[0] >= 'A' && quoted[0] <= 'Z' && !slices.Contains(known, quoted) {
					t.Errorf("%s names %q, which is no panel", a.Playbook(), quoted)
				}
			}
		}
	}
}

// prose returns the paragraphs of a page that are no code.
func prose(page string) []string {
	var out []string
	for i, part := range strings.Split(page, "```") {
		if i%2 == 1 {
			continue
		}
		for paragraph := range strings.SplitSeq(part, "\n\n") {
			var plain strings.Builder
			for j, p := range strings.Split(strings.ReplaceAll(paragraph, "\n", " "), "`") {
				if j%2 == 0 {
					plain.WriteString(p)
				}
			}
			out = append(out, plain.String())
		}
	}
	return out
}
