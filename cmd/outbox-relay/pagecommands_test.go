package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/thorough"
)

// ofPages finds commands of this program in the code of a page, up to a comment, a pipe, or a
// place to which the output goes.
var ofPages = regexp.MustCompile(`(?m)(?:^(?:    |\s*\$ |)|\| )(?:go run \./cmd/|(?:\.\./)*dist/|bin/)?outbox-relay ([^#|>&\n]+)`)

// Each command of this program in the code of a page, the playbooks apart, is one that the
// program takes. What stands in capitals is a name.
func TestPageCommandsParse(t *testing.T) {
	thorough.Long(t)
	env := shell.LookupIn(map[string]string{
		"GOOGLE_CLOUD_PROJECT": "my-project", "OUTBOX_RELAY_URL": "https://relay.example.com", "PUBSUB_EMULATOR_HOST": "127.0.0.1:8085",
	})
	parsed := 0
	for _, pattern := range []string{"README.md", "contracts/README.md", "docs/*.md", "deploy/*/README.md", "deploy/local/client/README.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("pages: %v, %v", names, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("\\\n", " ", " TIME ", " 2026-03-01T11:00:00Z ").Replace(string(data))
			for _, m := range ofPages.FindAllStringSubmatch(text, -1) {
				args := words(t, os.Expand(m[1], func(name string) string { value, _ := env(name); return value }))
				if strings.HasPrefix(m[1], "carries ") { // README.md's own words
					continue
				}
				if cmd, err := parse(args, env, io.Discard, io.Discard); err != nil || cmd == nil {
					t.Errorf("%s: outbox-relay %s: %v", name, m[1], err)
				}
				parsed++
			}
		}
	}
	if parsed < 60 {
		t.Errorf("%d commands were parsed: the pattern finds too few", parsed)
	}
}
