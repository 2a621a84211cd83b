package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	code    = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```$|``.*?``|`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unwant  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns what a page's headings are led to by, as GitHub has it.
func anchors(text string) map[string]bool {
	all := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```$").ReplaceAllString(text, ""), -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		all[strings.ReplaceAll(unwant.ReplaceAllString(strings.ToLower(title), ""), " ", "-")] = true
	}
	return all
}

// Each link within the repository leads to a file, and to a heading that it has.
func TestPagesLeadSomewhere(t *testing.T) {
	all := pages(t)
	links := 0
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), path))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s leads to %s: %v", name, m[1], err)
			} else if anchor != "" && !anchors(all[target])[anchor] {
				t.Errorf("%s leads to %s, a heading that is not there", name, m[1])
			}
		}
	}
	if links < 200 {
		t.Errorf("%d links were looked at: the pattern finds too few", links)
	}
}
