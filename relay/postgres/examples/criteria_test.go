package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each test that the page names for a criterion is there.
func TestCriteriaNameTestsThatExist(t *testing.T) {
	const root = "../../.."
	page, err := os.ReadFile(root + "/docs/outbox.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, name := range regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllSubmatch(page, -1) {
		missing["func "+string(name[1])+"("] = true
	}
	if len(missing) < 10 {
		t.Fatalf("the page names %d tests only", len(missing))
	}
	for _, dir := range []string{"relay/postgres", "cmd/outbox-publisher", "contracts/inbox", "deploy"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "node_modules":
				return filepath.SkipDir
			case !strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for test := range missing {
				if strings.Contains(string(text), test) {
					delete(missing, test)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for test := range missing {
		t.Errorf("the page names a test that is not there: %s", test)
	}
}
