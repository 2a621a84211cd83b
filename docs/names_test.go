package docs

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// others are names that pages have and the code has not.
var others = []string{
	"OTEL_RESOURCE_ATTRIBUTES",        // OpenTelemetry's
	"TestSubjectDoesWhat",             // the form of a name
	"VITE_NOTIFICATION_DISPATCH_MODE", // a front end's
}

// What pages call by its name, outside of their history, is there.
func TestPagesNameWhatIs(t *testing.T) {
	text := source(t)
	in := func(before, after string) func(string, string) bool {
		return func(_, name string) bool { return strings.Contains(text, before+name+after) }
	}
	for what, kind := range map[string]struct {
		pattern string
		is      func(page, name string) bool
		least   int // so many are found
	}{
		"a variable": {"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[`=]", in("", ""), 180},
		"a metric":   {`\b((?:relay|workqueue)_[a-z0-9_]+?)(?:_bucket|_count|_sum)?\b`, in("", ""), 80},
		"a test":     {`\b(Test[A-Z]\w+)[^\w.…]`, in("func ", "("), 50},
		"a log line": {`jsonPayload\.message[=:]"([^"]+)"`, in(`"`, ""), 4},
		"a target":   {"`make ([a-z-]+)", in("\n", ":"), 30},
		"a file": {"`((?:\\w[\\w.-]*/)+[\\w.-]+\\.(?:go|yaml|json|ts|mjs|tf|rules))`", func(page, name string) bool {
			_, fromRoot := os.Stat(path.Join(root, name))
			_, beside := os.Stat(path.Join(root, path.Dir(page), name))
			return fromRoot == nil || beside == nil
		}, 10},
	} {
		found := 0
		for page, text := range pages(t) {
			if page == "CHANGELOG.md" {
				continue
			}
			for _, m := range regexp.MustCompile(kind.pattern).FindAllStringSubmatch(text, -1) {
				found++
				if !kind.is(page, m[1]) && !slices.Contains(others, m[1]) {
					t.Errorf("%s names %s that is not there: %s", page, what, m[1])
				}
			}
		}
		if found < kind.least {
			t.Errorf("%d times %s is named: the pattern finds too few", found, what)
		}
	}
}

// source is the text of all files of the repository that are no pages, but for this one and for alerts, which have playbooks in them.
func source(t *testing.T) string {
	t.Helper()
	all, err := files(os.DirFS(root), ".", func(name string) bool {
		return !strings.HasSuffix(name, ".md") && name != "docs/names_test.go" && !strings.HasPrefix(name, "deploy/monitoring/cloudmonitoring/alerts/")
	})
	if err != nil {
		t.Fatal(err)
	}
	return "\n" + strings.Join(slices.Collect(maps.Values(all)), "\n")
}
