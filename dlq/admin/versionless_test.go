package admin_test

import (
	"net/http"
	"strings"
	"testing"
)

// What has no sound version has none in the answers, either: 0 is a version that a record may have.
func TestADeadLetterWithoutAVersionHasNone(t *testing.T) {
	f := setup(t)
	f.queue.item.Versionless, f.queue.item.AggregateVersion = true, 0
	for name, a := range map[string]reply{
		"one":     f.do("dev-viewer", http.MethodGet, "/dlq/x", ""),
		"list":    f.do("dev-viewer", http.MethodGet, "/dlq", ""),
		"trace":   f.do("dev-viewer", http.MethodGet, "/trace/trace-1", ""),
		"records": f.do("dev-viewer", http.MethodGet, "/records?eventId=e", ""),
		"dry run": f.do("dev-operator", http.MethodPost, "/replays", `{"filter":{},"dryRun":true}`),
	} {
		if a.status != http.StatusOK || !strings.Contains(string(a.body), `"aggregateVersion":null`) || strings.Contains(string(a.body), `"aggregateVersion":0`) {
			t.Errorf("%s: answered %d: %s", name, a.status, a.body)
		}
	}
}
