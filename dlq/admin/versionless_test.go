package admin_test

import (
	"net/http"
	"strings"
	"testing"
)

// A record without a sound version has none in the answers, either: 0 is a version that a record may have.
func TestADeadLetterWithoutAVersionHasNone(t *testing.T) {
	f := setup(t)
	f.queue.item.Versionless, f.queue.item.AggregateVersion = true, 0
	for name, a := range map[string]reply{
		"one":     f.do("dev-viewer", http.MethodGet, "/dlq/x", ""),
		"list":    f.do("dev-viewer", http.MethodGet, "/dlq", ""),
		"dry run": f.do("dev-operator", http.MethodPost, "/replays", `{"filter":{},"dryRun":true}`),
	} {
		if a.status != http.StatusOK || !strings.Contains(string(a.body), `"aggregateVersion":null`) {
			t.Errorf("%s: answered %d: %s", name, a.status, a.body)
		}
	}
}
