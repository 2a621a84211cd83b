package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/deploy/local/thorough"
)

// root is the module's directory, in which a reader of docs stands.
const root = "../.."

// page is a page of docs, whose first part is copied and pasted.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns what stands between fences of a language.
func blocks(text, language string) (out []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```\n").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// The program on docs/PRODUCERS.md is the example's.
func TestProducersPageShowsTheExample(t *testing.T) {
	program, err := os.ReadFile(filepath.Join(root, "contracts/outbox/example/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(program), blocks(page(t, "PRODUCERS.md"), "go")[0]); diff != "" {
		t.Errorf("the page's program (-example +page):\n%s", diff)
	}
}

// The TypeScript on docs/PRODUCERS.md is what is compiled and run by the tests of
// contracts/node.
func TestProducersPageShowsTheTypeScript(t *testing.T) {
	tested, err := os.ReadFile(filepath.Join(root, "contracts/node/test/page.ts"))
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.ReplaceAll(blocks(page(t, "PRODUCERS.md"), "ts")[0], "'./outbox.js'", "'../default.js'")
	if diff := cmp.Diff(string(tested), shown); diff != "" {
		t.Errorf("the page's TypeScript (-tested +page):\n%s", diff)
	}
}

// The commands at the top of docs/PRODUCERS.md print what stands below them.
func TestProducersPageWorksByCopyAndPaste(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	text := page(t, "PRODUCERS.md")
	commands := blocks(text, "sh")
	if want := "go run ./cmd/outbox-relay local --no-samples | tee local.txt\n"; commands[0] != want {
		t.Fatalf("the first terminal runs %q, want %q", commands[0], want)
	}
	run := startProgram(t, nil, "local", "--no-samples", "--http", "127.0.0.1:0")
	http := run.stdout.find(t, `metrics  http://(\S+)/metrics`)
	run.stdout.find(t, `FIRESTORE_EMULATOR_HOST=(\S+)`)
	printed := filepath.Join(t.TempDir(), "local.txt")
	if err := os.WriteFile(printed, []byte(run.stdout.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	second, metrics, ok := strings.Cut(strings.ReplaceAll(commands[1], "local.txt", printed), "curl -s 127.0.0.1:8080/metrics | grep ")
	if !ok {
		t.Fatalf("the second terminal looks at no metrics:\n%s", commands[1])
	}
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", second)
	shell.Dir = root
	got, err := shell.Output()
	if err != nil {
		t.Fatalf("the second terminal: %v\n%s", err, got)
	}
	wanted := regexp.MustCompile(`(?m)` + strings.Trim(metrics, "'\n"))
	var line string
	eventually(t, "the relay tells of the record", func() bool {
		_, body := fetch(t, http, "/metrics")
		line = wanted.FindString(body)
		return line != ""
	})
	for _, want := range append(strings.Split(strings.TrimSpace(string(got)), "\n"), line) {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}
