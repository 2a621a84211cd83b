package monitoring_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"outboxrelay/deploy/local/thorough"
)

// promtool returns how to call Prometheus's promtool. In CI it has to be there; else
// the tests that need it are skipped where nobody installed it.
func promtool(t *testing.T) string {
	t.Helper()
	tool := os.Getenv("OUTBOX_RELAY_PROMTOOL")
	if tool == "" {
		tool = "promtool"
	}
	path, err := exec.LookPath(tool)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		t.Fatalf("promtool is missing, so no alert is tested: %v", err)
	}
	t.Skipf("promtool is not installed (Debian's package prometheus has it): %v", err)
	return ""
}

func run(t *testing.T, tool string, args ...string) (output string, err error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput()
	return string(out), err
}

func TestRulesAreRight(t *testing.T) {
	out, err := run(t, promtool(t), "check", "rules", "--lint=all", "--lint-fatal", "prometheus/rules.yaml")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Log(out)
}

// Every alert fires when it should, and does not when it should not.
func TestAlertsFire(t *testing.T) {
	thorough.Long(t)
	out, err := run(t, promtool(t), "test", "rules", "prometheus/rules_test.yaml", "prometheus/rules_days_test.yaml")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Log(out)
}

// What Cloud Monitoring and the dashboards ask for is no part of the rules: promtool
// reads it all the same, as rules that record it.
func TestQueriesAreRight(t *testing.T) {
	tool := promtool(t)
	var b bytes.Buffer
	b.WriteString("groups:\n  - name: all\n    rules:\n")
	for i, e := range define(t).Expressions() {
		fmt.Fprintf(&b, "      - record: query_%d\n        expr: |\n          %s\n", i, e)
	}
	file := filepath.Join(t.TempDir(), "queries.yaml")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, tool, "check", "rules", "--lint=none", file); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Each alert is seen to fire and not to fire by the cases.
func TestEachAlertIsTestedBothWays(t *testing.T) {
	files := generated(t)
	text := string(files["deploy/monitoring/prometheus/rules_test.yaml"]) + string(files["deploy/monitoring/prometheus/rules_days_test.yaml"])
	for _, a := range define(t).Alerts {
		fires, silent := false, false
		for _, part := range strings.Split(text, "eval_time: ")[1:] {
			if _, rest, ok := strings.Cut(part, "alertname: "+a.Name+"\n"); ok {
				if strings.HasPrefix(strings.TrimSpace(rest), "exp_alerts: []") {
					silent = true
				} else {
					fires = true
				}
			}
		}
		if !fires || !silent {
			t.Errorf("%s: seen to fire %v, seen not to %v", a.Name, fires, silent)
		}
	}
}
