package monitoring

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
)

// Folders of the repository with generated files.
const (
	monitoringDir = "deploy/monitoring"
	policyDir     = monitoringDir + "/cloudmonitoring/alerts"
)

// Files returns every generated file by its path in the repository, which is
// where playbooks are read. Playbooks are linked below a base.
func (d *Definition) Files(repository fs.FS, base string) (map[string][]byte, error) {
	files := make(map[string][]byte)
	for name, write := range map[string]func() ([]byte, error){
		"prometheus/rules.yaml":           func() ([]byte, error) { return d.Rules(base) },
		"prometheus/rules_test.yaml":      func() ([]byte, error) { return d.RulesTest(base) },
		"prometheus/rules_days_test.yaml": func() ([]byte, error) { return d.DaysTest(base) },
		"grafana/dashboard.json":          d.Grafana,
		"cloudmonitoring/dashboard.json":  d.CloudDashboard,
	} {
		data, err := write()
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files[path.Join(monitoringDir, name)] = data
	}
	policies, err := d.Policies(func(a Alert) (string, error) {
		text, err := fs.ReadFile(repository, a.Playbook())
		return string(text), err
	})
	if err != nil {
		return nil, err
	}
	for name, data := range policies {
		files[path.Join(policyDir, name)] = data
	}
	files[PlaybookDir+"/README.md"] = d.index()
	return files, nil
}

// Stale returns the generated policies in the repository that are not any more
// among files.
func Stale(repository fs.FS, files map[string][]byte) ([]string, error) {
	found, err := fs.Glob(repository, policyDir+"/*.json")
	if err != nil {
		return nil, err
	}
	known := maps.Clone(files)
	var stale []string
	for _, name := range found {
		if _, ok := known[name]; !ok {
			stale = append(stale, name)
		}
	}
	return stale, nil
}

// index writes the playbooks' list.
func (d *Definition) index() []byte {
	var b bytes.Buffer
	b.WriteString(`<!-- Generated from package deploy/monitoring by go generate. Do not edit. -->

# Playbooks

One for each alert. Each begins with who suffers from what, and says how to see it, what to do, and how to know that it is over.
**critical** wakes somebody; **warning** is looked at in working hours.

| alert | severity | what is hurt |
|---|---|---|
`)
	for _, a := range d.Alerts {
		var severities []string
		for _, s := range []Severity{Warning, Critical} {
			for _, r := range a.Rules {
				if r.Severity == s {
					severities = append(severities, string(s))
					break
				}
			}
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", a.Name, a.Name, strings.Join(severities, ", "), a.Hurt)
	}
	b.WriteString(`
## Before you need them

The commands ask the admin API of a running service. They need its address and a token; the README's "On the command line" says
which identities may do what.

    export OUTBOX_RELAY_URL=https://relay.example.com
    export OUTBOX_RELAY_TOKEN_COMMAND='gcloud auth print-identity-token --include-email \
      --impersonate-service-account=operator@my-project.iam.gserviceaccount.com --audiences=https://relay.example.com'
    TOKEN=$(eval "$OUTBOX_RELAY_TOKEN_COMMAND")     # for curl

` + "`/readyz` and `/metrics`" + ` need no token of the relay's, but whatever stands before it: with Identity-Aware Proxy open them in a browser.
Lag, breakers, listeners and memory are those of the instance that answers, also in the console and in ` + "`lanes list`" + `: another one has its own, and the metrics tell of all.
What stands under ` + "`promql`" + ` goes into Grafana's Explore or Cloud Monitoring's Metrics explorer.

The definitions are in [deploy/monitoring](../../deploy/monitoring).
`)
	return b.Bytes()
}
