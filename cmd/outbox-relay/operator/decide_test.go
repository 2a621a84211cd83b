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

func TestWhoEndsAReplayIsToldOfADeliveryUnderWay(t *testing.T) {
	for _, replaying := range []*adminapi.Request{nil, {By: "alice@example.com"}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPost {
				_ = json.NewEncoder(w).Encode(adminapi.Decided{Item: adminapi.Item{ID: "x", State: "discarded"}})
				return
			}
			_ = json.NewEncoder(w).Encode(adminapi.Item{ID: "x", Replaying: replaying})
		}))
		api := apiFlags{URL: server.URL}
		for name, run := range map[string]func(shell.Process) error{
			"discard":  func(p shell.Process) error { return (&discardCmd{ID: "x", apiFlags: api}).Run(t.Context(), p) },
			"withdraw": func(p shell.Process) error { return (&withdrawCmd{ID: "x", apiFlags: api}).Run(t.Context(), p) },
		} {
			var stdout strings.Builder
			if err := run(shell.Process{Stdout: &stdout, Env: shell.LookupIn(nil)}); err != nil || strings.Contains(stdout.String(), "comes to its end") != (replaying != nil) {
				t.Errorf("%s of one being replayed: %t: told %q, %v", name, replaying != nil, &stdout, err)
			}
		}
		server.Close()
	}
}
