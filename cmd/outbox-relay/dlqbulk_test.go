package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
)

func TestBulkBeginsWhatWasLookedAt(t *testing.T) {
	look := adminapi.BulkRequest{IDs: []string{"a"}, DryRun: true}
	for _, tc := range []struct {
		name string
		cmd  dlqBulkCmd
		look adminapi.BulkRequest
		want string
	}{
		{"somebody was asked", dlqBulkCmd{}, look, "seen"},
		{"nobody was", dlqBulkCmd{Yes: true}, look, ""},
		{"a pin was given", dlqBulkCmd{}, adminapi.BulkRequest{Pin: "given"}, "given"},
		{"a pin was given, and nobody was asked", dlqBulkCmd{Yes: true}, adminapi.BulkRequest{Pin: "given"}, "given"},
	} {
		got := tc.cmd.order(tc.look, adminapi.Selection{Pin: "seen"})
		if got.Pin != tc.want || got.DryRun || got.RequestID == "" {
			t.Errorf("%s: ordered %+v, want the pin %q", tc.name, got, tc.want)
		}
	}
}

func TestBulkOfSingleDeadLetters(t *testing.T) {
	var posted []adminapi.BulkRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request adminapi.BulkRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		posted = append(posted, request)
		w.Header().Set("Content-Type", "application/json")
		if request.DryRun {
			_ = json.NewEncoder(w).Encode(adminapi.Selection{Items: make([]adminapi.Selected, 2)})
			return
		}
		_ = json.NewEncoder(w).Encode(adminapi.Bulk{ID: "b", Total: 2})
	}))
	defer server.Close()
	got := runProgram(t, nil, "", "dlq", "bulk", "--url", server.URL, "--id", "a,b", "--id", "c", "--pin", "p", "--yes", "--no-follow", "--reason", "x")
	if got.code != shell.ExitOK || len(posted) != 2 {
		t.Fatalf("%d requests: %+v", len(posted), got)
	}
	for n, p := range posted {
		if diff := cmp.Diff([]string{"a,b", "c"}, p.IDs); diff != "" || p.Filter != nil || p.Pin != "p" {
			t.Errorf("request %d: %+v", n+1, p)
		}
	}
	if got := runProgram(t, nil, "", "dlq", "bulk", "--url", server.URL, "--id", "a", "--tier", "SAFE_AUTO", "--dry-run"); got.code != shell.ExitUsage {
		t.Errorf("a filter beside IDs: %+v", got)
	}
}
