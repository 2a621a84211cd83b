package doctor_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/doctor"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The report's form as JSON is a contract: scripts read it.
func TestReportGolden(t *testing.T) {
	c := bare(t)
	r := c.examine()
	scrub := strings.NewReplacer(c.Firestore, "127.0.0.1:8081", c.PubSub, "127.0.0.1:8085", c.Auth, "127.0.0.1:9099")
	var asJSON, asText bytes.Buffer
	enc := json.NewEncoder(&asJSON)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteText(&asText); err != nil {
		t.Fatal(err)
	}
	indexes := regexp.MustCompile(`[0-9]+ of [0-9]+ indexes`) // whose number is the requirements' own matter
	for name, got := range map[string]string{"bare.json": asJSON.String(), "bare.txt": asText.String()} {
		golden(t, name, indexes.ReplaceAllString(scrub.Replace(got), "all indexes"))
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s(go test ./cmd/outbox-relay/doctor -update rewrites it)", name, diff)
	}
}

// What others wrote cannot draw on the terminal.
func TestTextIsClean(t *testing.T) {
	r := doctor.Report{Groups: []doctor.Group{{Name: "g", Findings: []doctor.Finding{
		{Check: "c", Result: doctor.Warn, Detail: "first\x1b[2Jline\nsecond\tline", Hint: "\x07bell", Mend: []string{"echo \x1b"}},
	}}}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\t") || !strings.Contains(b.String(), "\n           second line\n") {
		t.Errorf("%q", b.String())
	}
}
