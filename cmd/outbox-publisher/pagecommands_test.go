package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/shell"
)

// ofPages finds commands of this program in a page, up to the end of a line, of a quotation or of a pipe's piece.
var ofPages = regexp.MustCompile("(?m)(?:^(?:bin/)?|`|xargs )outbox-publisher( [^|`#>&\n]*)")

// Each command of this program that a page names is one that it takes. IDs stand in capitals.
func TestPageCommandsParse(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"docs/*.md", "docs/playbooks/*.md", "deploy/heroku/*.md"} {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("pages: %v, %v", found, err)
		}
		pages = append(pages, found...)
	}
	parsed := 0
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ofPages.FindAllSubmatch(page, -1) {
			args := strings.Fields(string(m[1]))
			if bytes.Contains(m[0], []byte("xargs")) {
				args = append(args, "EVENT_ID")
			}
			var stdout, stderr bytes.Buffer
			if cmd, err := parse(args, shell.LookupIn(map[string]string{"DATABASE_URL": "postgres://x"}), &stdout, &stderr); err != nil || cmd == nil {
				t.Errorf("%s: outbox-publisher %s: %v", filepath.Base(name), args, err)
			}
			parsed++
		}
	}
	if parsed < 15 {
		t.Errorf("%d commands were parsed, want more", parsed)
	}
}
