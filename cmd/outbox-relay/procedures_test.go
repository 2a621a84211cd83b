package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/thorough"
)

const operationsDoc = "../../docs/OPERATIONS.md"

func operationsText(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(operationsDoc)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Each command of the document is one that the program takes.
func TestOperationsDocCommandsParse(t *testing.T) {
	thorough.Long(t)
	text := strings.ReplaceAll(operationsText(t), "\\\n", " ")
	commands := regexp.MustCompile("(?m)(?:^\\s+(?:\\$ )?|`)outbox-relay ([^#|>&`\n]+)").FindAllStringSubmatch(text, -1)
	env := shell.Lookup(func(name string) (string, bool) {
		value, ok := map[string]string{"GOOGLE_CLOUD_PROJECT": "my-project", "OUTBOX_RELAY_URL": "https://relay.example.com"}[name]
		return value, ok
	})
	parsed := 0
	for _, c := range commands {
		args := words(t, os.Expand(c[1], func(name string) string { value, _ := env(name); return value }))
		if len(args) == 1 || slices.Contains(args, "...") { // only named, or shortened
			continue
		}
		cmd, err := parse(args, env, io.Discard, io.Discard)
		switch {
		case err != nil:
			t.Errorf("outbox-relay %s: %v", c[1], err)
		case cmd == nil:
			t.Errorf("outbox-relay %s runs nothing", c[1])
		}
		parsed++
	}
	if parsed < 15 {
		t.Errorf("the document has %d commands that were looked at: the pattern finds too few", parsed)
	}
}

// Each file that the document leads to exists, each heading that it names, and
// each test that it says carried a procedure out.
func TestOperationsDocLeadsSomewhere(t *testing.T) {
	text := operationsText(t)
	headings := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		headings["#"+strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = true
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(m[1], "#") {
			if !headings[m[1]] {
				t.Errorf("there is no heading %s", m[1])
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(operationsDoc), m[1])); err != nil {
			t.Errorf("link: %v", err)
		}
	}
	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(data)
	}
	named := strings.ReplaceAll(text, "`...", "`TestE2EOperations")
	for _, m := range regexp.MustCompile("`(Test\\w*Operations\\w+)`").FindAllStringSubmatch(named, -1) {
		if !strings.Contains(tests.String(), "func "+m[1]+"(") {
			t.Errorf("there is no test %s", m[1])
		}
	}
}
