package operator

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestDeadLettersNamedAsOperationsAreReached(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+strings.TrimPrefix(r.RequestURI, "/admin/v1/dlq/"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"state":"replayed","record":{}}`)
	}))
	defer server.Close()
	api := apiFlags{URL: server.URL}
	for _, run := range []func(shell.Process) error{
		func(p shell.Process) error {
			return (&showCmd{ID: "groups", Uncover: true, apiFlags: api}).Run(t.Context(), p)
		},
		func(p shell.Process) error { return (&discardCmd{ID: "count", apiFlags: api}).Run(t.Context(), p) },
		func(p shell.Process) error {
			return (&replayCmd{ID: "named", Wait: true, apiFlags: api}).Run(t.Context(), p)
		},
	} {
		if err := run(shell.Process{Stdout: io.Discard, Stderr: io.Discard, Env: shell.LookupIn(nil)}); err != nil {
			t.Error(err)
		}
	}
	want := []string{"GET %2567roups", "POST %2567roups/uncover", "GET %2563ount", "POST %2563ount/discard", "POST %256Eamed/replay", "GET %256Eamed"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}
