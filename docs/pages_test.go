package docs

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// root is the directory of the module.
const root = ".."

// unread are directories of what is not the repository's own.
var unread = []string{".git", "bin", "dist", "node_modules"}

// pages returns the repository's pages, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	repository := os.DirFS(root)
	err := fs.WalkDir(repository, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(unread, entry.Name()):
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, ".md"):
			text, err := fs.ReadFile(repository, path)
			all[path] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Fatalf("there are %d pages: too few are found", len(all))
	}
	return all
}

// fenced returns what stands between fences of a language.
func fenced(text, language string) (out []string) {
	for _, m := range regexp.MustCompile("(?ms)^\\s*```"+language+"\n(.*?)^\\s*```$").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}
