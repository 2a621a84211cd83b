package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/shell"
)

func TestCatalogValidate(t *testing.T) {
	if got := runProgram(t, nil, "", "catalog", "validate"); got.code != shell.ExitOK || !strings.Contains(got.stdout, "valid: 6 outboxes") {
		t.Errorf("default catalog: %+v", got)
	}
	file := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(file, []byte("outboxes:\n  - name: x\n    nonsense: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"as an argument": {"catalog", "validate", file},
		"as a flag":      {"catalog", "validate", "--catalog", file},
		"printed":        {"catalog", "print", file},
	} {
		t.Run(name, func(t *testing.T) {
			got := runProgram(t, nil, "", args...)
			if got.code != shell.ExitUsage || !strings.Contains(got.stderr, "bad.yaml:3") {
				t.Errorf("bad catalog: %+v; want exit code %d and the line", got, shell.ExitUsage)
			}
		})
	}
}

func TestCatalogPrintIsReadBack(t *testing.T) {
	printed := runProgram(t, nil, "", "catalog", "print")
	if printed.code != shell.ExitOK {
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

// TestCatalogPrintsTheDeployedFiles: the commands print what stands in deploy.
func TestCatalogPrintsTheDeployedFiles(t *testing.T) {
	for command, file := range map[string]string{
		"indexes":      "../../deploy/firestore/firestore.indexes.json",
		"requirements": "../../deploy/terraform/requirements.json",
	} {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := runProgram(t, nil, "", "catalog", command)
		if diff := cmp.Diff(result{stdout: string(want)}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("catalog %s is not %s (-want +got):\n%s", command, file, diff)
		}
	}
}

func TestCatalogTopicsWithSubscriptions(t *testing.T) {
	printed := runProgram(t, nil, "", "catalog", "topics", "--json", "--stand-in", "CLAIMS_HANDLER=ier-claims-handler")
	type topic struct {
		Name         string
		Subscription map[string]any
	}
	var topics []topic
	if err := json.Unmarshal([]byte(printed.stdout), &topics); err != nil || printed.code != shell.ExitOK {
		t.Fatalf("%v: %+v", err, printed)
	}
	n := slices.IndexFunc(topics, func(t topic) bool { return t.Name == "ier-claims-handler" })
	if n < 0 {
		t.Fatalf("the stand-in's topic is not among %v", topics)
	}
	want := map[string]any{
		"name": "ier-claims-handler-consumer", "ordered": true, "ackDeadline": "60s", "retainFor": "604800s", "minBackoff": "1s", "maxBackoff": "600s",
		"deadLetterTopic": "ier-claims-handler-dead-letters",
		"deadLetterReader": map[string]any{
			"name": "ier-claims-handler-dead-letters-reader", "ordered": true, "ackDeadline": "60s", "retainFor": "2678400s",
		},
		"maxDeliveryAttempts": 20.0, "exactlyOnce": false,
	}
	if diff := cmp.Diff(want, topics[n].Subscription); diff != "" {
		t.Errorf("subscription (-want +got):\n%s", diff)
	}
	commands := runProgram(t, nil, "", "catalog", "topics", "--gcloud")
	if commands.code != shell.ExitOK || !strings.Contains(commands.stdout, "gcloud pubsub topics create ier-funnel-standard\n") {
		t.Errorf("commands: %+v", commands)
	}
	if both := runProgram(t, nil, "", "catalog", "topics", "--gcloud", "--json"); both.code != shell.ExitUsage {
		t.Errorf("both forms: %+v, want exit code %d", both, shell.ExitUsage)
	}
}

func TestCatalogPermissions(t *testing.T) {
	table := runProgram(t, nil, "", "catalog", "permissions")
	for _, want := range []string{"datastore.entities.delete", "Commit delete: ", "--ensure-topics", "targets of kind handler", "always"} {
		if !strings.Contains(table.stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, table.stdout)
		}
	}
	printed := runProgram(t, nil, "", "catalog", "permissions", "--json", "--stand-in", "CLAIMS_HANDLER=ier-claims-handler")
	var got []struct{ Name, When string }
	if err := json.Unmarshal([]byte(printed.stdout), &got); err != nil || len(got) != 9 {
		t.Errorf("%d permissions without the handler of claims, want 9 (%v)", len(got), err)
	}
}

func TestCatalogNode(t *testing.T) {
	want, err := os.ReadFile(root + "/contracts/node/default.ts")
	if err != nil {
		t.Fatal(err)
	}
	got := runProgram(t, nil, "", "catalog", "node")
	if diff := cmp.Diff(string(want), got.stdout); diff != "" || got.code != shell.ExitOK {
		t.Errorf("catalog node: exit code %d (-default.ts +got):\n%s", got.code, diff)
	}
	file := filepath.Join(t.TempDir(), "outbox.ts")
	if got := runProgram(t, nil, "", "catalog", "node", "--output", file); got.code != shell.ExitOK || got.stdout != "" {
		t.Errorf("catalog node --output: %+v", got)
	}
	if written, err := os.ReadFile(file); err != nil || string(written) != string(want) {
		t.Errorf("written: %d bytes, %v; want %d", len(written), err, len(want))
	}
}
