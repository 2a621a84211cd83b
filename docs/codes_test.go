package docs

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// codeOf finds the codes with which documents of work queues end: constants, and those of the
// notifications' errors.
var codeOf = regexp.MustCompile(`(?m)^\s+(?:[cC]ode[A-Z]\w+\s+= |\{err[A-Z]\w+, )"([A-Z][A-Z_]+)"`)

// An operator who meets a code as lastErrorCode finds it in the playbook.
func TestPlaybookHasEachCodeOfTheQueues(t *testing.T) {
	page := pages(t)["docs/playbooks/RelayQueueDeadLetters.md"]
	found := 0
	repository := os.DirFS(root)
	err := fs.WalkDir(repository, "relay/workqueue", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(repository, name)
		for _, m := range codeOf.FindAllSubmatch(text, -1) {
			found++
			if code := string(m[1]); !strings.Contains(page, "`"+code+"`") {
				t.Errorf("the playbook does not have %s of %s", code, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 18 {
		t.Errorf("%d codes were looked for: the pattern finds too few", found)
	}
}
