package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// root is the directory of the module.
const root = ".."

// pages returns the repository's pages, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all, err := files(os.DirFS(root), ".", func(name string) bool { return strings.HasSuffix(name, ".md") })
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
