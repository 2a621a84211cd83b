package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/thorough"
)

// words splits a command as a shell does, as far as playbooks need it.
func words(t *testing.T, line string) (out []string) {
	t.Helper()
	var word strings.Builder
	var quote rune
	began := false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, began = c, true
		case quote == 0 && c == ' ':
			if began {
				out = append(out, word.String())
				word.Reset()
				began = false
			}
		default:
			word.WriteRune(c)
			began = true
		}
	}
	if quote != 0 {
		t.Fatalf("a quote does not end: %s", line)
	}
	if began {
		out = append(out, word.String())
	}
	return out
}

// inline are commands of ours within the text of a page.
var inline = regexp.MustCompile("`(outbox-relay [^`]+)`")

// TestPlaybookCommandsParse: each command of ours that a playbook names is one that
// the program takes. IDs and the like stand in capitals.
func TestPlaybookCommandsParse(t *testing.T) {
	thorough.Long(t)
	parsed := 0
	for name, page := range playbooks(t) {
		lines := fenced(page, "sh")
		for _, m := range inline.FindAllStringSubmatch(page, -1) {
			lines = append(lines, m[1])
		}
		for _, line := range lines {
			args := words(t, line)
			switch args[0] {
			case "outbox-relay":
				var stdout, stderr bytes.Buffer
				env := map[string]string{"OUTBOX_RELAY_URL": "https://relay.example.com", "OUTBOX_RELAY_TOKEN": "x", "GOOGLE_CLOUD_PROJECT": "my-project"}
				if cmd, err := parse(args[1:], shell.LookupIn(env), &stdout, &stderr); err != nil || cmd == nil {
					t.Errorf("%s: %s: %v", name, line, err)
				}
				parsed++
			case "curl", "gcloud":
			case "outbox-publisher": // its own tests have them parsed
			default:
				t.Errorf("%s: %q is no command that a test knows", name, line)
			}
		}
	}
	if parsed < 30 {
		t.Errorf("%d commands were parsed, want some of each playbook", parsed)
	}
}

var (
	curlURL     = regexp.MustCompile(`"\$OUTBOX_RELAY_URL([^"]*)"`)
	consolePath = regexp.MustCompile("`(/console/[^`]*)`")
	jqField     = regexp.MustCompile(`(?:\.|[{,] ?)([a-zA-Z]\w*)`)
)

// TestPlaybookPathsAnswer: what playbooks ask by curl, and the pages that they send to,
// a service answers; and each field that they pick by jq is in the answer.
func TestPlaybookPathsAnswer(t *testing.T) {
	c := openClinic(t)
	c.serveWithin()
	get := func(path string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer dev-viewer")
		req.AddCookie(&http.Cookie{Name: "relay-dev-identity", Value: "dev-viewer"})
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			t.Errorf("GET %s = %d: %.200s", path, resp.StatusCode, body.String())
		}
		return body.String()
	}
	eventually(t, "every outbox has an owner to be told of", func() bool { return strings.Count(get("/readyz"), `"owner":`) >= len(c.catalog.Outboxes) })
	asked := 0
	for name, page := range playbooks(t) {
		for _, m := range consolePath.FindAllStringSubmatch(page, -1) {
			get(m[1])
			asked++
		}
		for _, line := range fenced(page, "sh") {
			m := curlURL.FindStringSubmatch(line)
			if m == nil {
				if strings.HasPrefix(line, "curl") {
					t.Errorf("%s asks somebody else: %s", name, line)
				}
				continue
			}
			asked++
			body := get(m[1])
			keys := keysOf(t, body)
			_, filter, _ := strings.Cut(line, "| jq")
			for _, f := range jqField.FindAllStringSubmatch(filter, -1) {
				if !slices.Contains(keys, f[1]) {
					t.Errorf("%s picks %q, which the answer has not: %s", name, f[1], line)
				}
			}
		}
	}
	if asked < 10 {
		t.Errorf("%d paths were asked for, want more", asked)
	}
}

// optional are keys that an answer leaves out while there is nothing to tell.
var optional = []string{"waiting"}

// keysOf are the names of all fields in a JSON text, however deep.
func keysOf(t *testing.T, text string) []string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("no JSON: %v: %.200s", err, text)
	}
	keys := slices.Clone(optional)
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				keys = append(keys, k)
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(value)
	return keys
}
