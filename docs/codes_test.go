package docs

import (
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
	code, err := files(os.DirFS(root), "relay/workqueue", func(name string) bool {
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, text := range code {
		for _, m := range codeOf.FindAllStringSubmatch(text, -1) {
			found++
			if !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("the playbook does not have %s of %s", m[1], name)
			}
		}
	}
	if found < 18 {
		t.Errorf("%d codes were looked for: the pattern finds too few", found)
	}
}
