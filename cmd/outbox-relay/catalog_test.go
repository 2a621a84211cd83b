package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCatalogValidate(t *testing.T) {
	if got := runProgram(t, nil, "", "catalog", "validate"); got.code != exitOK || !strings.Contains(got.stdout, "valid: 6 outboxes") {
		t.Errorf("default catalog: %+v", got)
	}
	file := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(file, []byte("outboxes:\n  - name: x\n    nonsense: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"as an argument": {"catalog", "validate", file},
		"as a flag":      {"catalog", "validate", "--catalog", file},
	} {
		t.Run(name, func(t *testing.T) {
			got := runProgram(t, nil, "", args...)
			if got.code != exitUsage || !strings.Contains(got.stderr, "bad.yaml:3") {
				t.Errorf("bad catalog: %+v; want exit code %d and the line", got, exitUsage)
			}
		})
	}
}

func TestCatalogPrintIsReadBack(t *testing.T) {
	printed := runProgram(t, nil, "", "catalog", "print")
	if printed.code != exitOK {
		t.Fatalf("print: %+v", printed)
	}
	if got := strings.Count(printed.stdout, "topic: ier-funnel-standard"); got != 1 {
		t.Errorf("the topic of FUNNEL stands %d times in:\n%s", got, printed.stdout)
	}
}

func TestCatalogTopics(t *testing.T) {
	got := runProgram(t, nil, "", "catalog", "topics")
	want := `domain-errors
domain-metrics
ier-audit-collector
ier-claims-handler
ier-funnel-critical
ier-funnel-standard
ier-notif-router
ier-org-context-acl
ier-org-schedule
ier-tag-subscriber
token-refresh-signal
`
	if diff := cmp.Diff(result{stdout: want}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}
