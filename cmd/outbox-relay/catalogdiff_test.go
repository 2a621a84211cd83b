package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts/diff"
)

const matchingFile = "../../contracts/catalogs/matching.yaml"

// changedMatching is the matching catalog without what is removed, and with another tier.
func changedMatching(t *testing.T, change func(text string) string) string {
	t.Helper()
	text, err := os.ReadFile(matchingFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "matching"), os.DirFS(filepath.Join(filepath.Dir(matchingFile), "matching"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "matching.yaml")
	if err := os.WriteFile(file, []byte(change(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func withoutMessages(text string) string {
	start, end := strings.Index(text, "      - type: chat.message_sent"), strings.Index(text, "  - name: trustSafetyOutbox")
	return text[:start] + strings.Replace(text[start:end], "type: chat.message_sent", "type: chat.message_stored", 1) + text[end:]
}

func TestCatalogDiff(t *testing.T) {
	same := runProgram(t, nil, "", "catalog", "diff", matchingFile, matchingFile)
	if diff := cmp.Diff(result{stdout: "0 changes: 0 breaking, 0 to heed, 0 additive\n"}, same, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("the same twice (-want +got):\n%s", diff)
	}

	file := changedMatching(t, withoutMessages)
	got := runProgram(t, nil, "", "catalog", "diff", matchingFile, file, "--on", "2026-04-01")
	want := `breaking  chatOutbox chat.message_sent v1 is gone, and was not deprecated
          records of it that are still appended, and those that wait undelivered, are contract violations, and its consumers get none
          instead or besides: keep it with deprecatedOn: 2026-04-01, and remove it 30 days later
additive  chatOutbox chat.message_stored v1 is new
          records of it were contract violations before, and are delivered now
          instead or besides: add the indexes that ` + "`outbox-relay catalog indexes`" + ` prints where its lane is new to the outbox
2 changes: 1 breaking, 0 to heed, 1 additive
`
	if got.code != shell.ExitRefused || got.stdout != want || !strings.Contains(got.stderr, "1 of 2 changes break something") {
		t.Errorf("code %d, stderr %q, stdout (-want +got):\n%s", got.code, got.stderr, cmp.Diff(want, got.stdout))
	}

	asJSON := runProgram(t, nil, "", "catalog", "diff", "--json", matchingFile, file)
	var shown changesShown
	if err := json.Unmarshal([]byte(asJSON.stdout), &shown); err != nil {
		t.Fatalf("%v in %s", err, asJSON.stdout)
	}
	if asJSON.code != shell.ExitRefused || shown.Breaking != 1 || len(shown.Changes) != 2 || shown.Changes[0].Kind != diff.Breaking || shown.Changes[0].Where != "chatOutbox chat.message_sent v1" {
		t.Errorf("as JSON: code %d, %+v", asJSON.code, shown)
	}
	if none := runProgram(t, nil, "", "catalog", "diff", "--json", matchingFile, matchingFile); !strings.Contains(none.stdout, `"changes": []`) || none.code != shell.ExitOK {
		t.Errorf("no change as JSON: %+v", none)
	}
}

// A removal is judged by the day of the change.
func TestCatalogDiffByTheDay(t *testing.T) {
	deprecated := changedMatching(t, func(text string) string {
		return strings.Replace(text, "type: chat.message_sent # a message is persisted\n", "type: chat.message_sent\n        deprecatedOn: 2026-03-02\n", 1)
	})
	gone := changedMatching(t, withoutMessages)
	for day, code := range map[string]int{"2026-03-31": shell.ExitRefused, "2026-04-01": shell.ExitOK} {
		if got := runProgram(t, nil, "", "catalog", "diff", deprecated, gone, "--on", day); got.code != code {
			t.Errorf("on %s: %+v, want exit code %d", day, got, code)
		}
	}
}

func TestCatalogDiffOfWhatIsNoCatalog(t *testing.T) {
	broken := changedMatching(t, func(text string) string { return strings.Replace(text, "{payload.match_id}", "{payload.nowhere}", 1) })
	for name, args := range map[string][]string{"old": {broken, matchingFile}, "new": {matchingFile, broken}, "missing": {matchingFile, "nowhere.yaml"}} {
		t.Run(name, func(t *testing.T) {
			if got := runProgram(t, nil, "", append([]string{"catalog", "diff"}, args...)...); got.code != shell.ExitUsage {
				t.Errorf("%+v, want exit code %d", got, shell.ExitUsage)
			}
		})
	}
}
