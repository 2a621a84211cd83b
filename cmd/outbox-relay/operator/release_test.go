package operator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
)

func TestAggregateOfDotsIsReleased(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.RequestURI
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(adminapi.Released{})
	}))
	defer server.Close()
	for aggregate, want := range map[string]string{".": "%252E", "..": "%252E.", "acc/1": "acc%2F1"} {
		c := releaseCmd{Aggregate: aggregate, apiFlags: apiFlags{URL: server.URL}}
		if err := c.Run(t.Context(), shell.Process{Stdout: &strings.Builder{}, Env: shell.LookupIn(nil)}); err != nil || asked != "/admin/v1/freezes/"+want+"/release" {
			t.Errorf("%q: asked for %s, %v", aggregate, asked, err)
		}
	}
}
