package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
)

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

// What is looked at is what is started: what dies in between is none of it.
func TestBulkFreezesItsFilter(t *testing.T) {
	for _, tc := range []struct {
		name  string
		found int
		args  []string
		posts int
		want  string
	}{
		{"something to do", 1, nil, 2, "bulk replay b of 1 dead letter has begun"},
		{"with an end of its own", 1, []string{"--to", "2026-03-01T00:00:00Z"}, 2, "has begun"},
		{"nothing to do", 0, nil, 1, "nothing to do\n"},
		{"nothing to do, as JSON", 0, []string{"--json"}, 1, `"items": []`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var posted []adminapi.BulkRequest
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var request adminapi.BulkRequest
				if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
					t.Error(err)
				}
				posted = append(posted, request)
				w.Header().Set("Content-Type", "application/json")
				if request.DryRun {
					_ = json.NewEncoder(w).Encode(adminapi.Selection{Items: make([]adminapi.Selected, tc.found)})
					return
				}
				_ = json.NewEncoder(w).Encode(adminapi.Bulk{ID: "b", Total: tc.found})
			}))
			defer server.Close()
			args := append([]string{"dlq", "bulk", "--url", server.URL + "/", "--group", "g", "--yes", "--no-follow", "--reason", "x"}, tc.args...)
			before := time.Now()
			got := runProgram(t, nil, "", args...)
			if got.code != shell.ExitOK || !strings.Contains(got.stdout, tc.want) || len(posted) != tc.posts {
				t.Fatalf("%d requests, want %d; %+v, want %q", len(posted), tc.posts, got, tc.want)
			}
			to := posted[0].Filter.To
			if len(tc.args) < 2 && (to.Before(before) || to.After(time.Now())) {
				t.Errorf("it ends at %s", to)
			}
			for n, p := range posted {
				if !p.Filter.To.Equal(to) || p.DryRun != (n == 0) || p.Filter.Group != "g" {
					t.Errorf("request %d: %+v", n+1, p)
				}
			}
		})
	}
}
