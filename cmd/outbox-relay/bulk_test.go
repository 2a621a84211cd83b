package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
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
	last := time.Date(2026, 3, 1, 10, 0, 0, 123456000, time.UTC)
	for _, tc := range []struct {
		name  string
		found int
		args  []string
		posts int
		want  string
	}{
		{"something to do", 2, nil, 2, "bulk replay b of 2 dead letters has begun"},
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
					found := []adminapi.Selected{{DeadAt: last}, {DeadAt: last.Add(-time.Hour)}}
					_ = json.NewEncoder(w).Encode(adminapi.Selection{Items: found[:tc.found]})
					return
				}
				_ = json.NewEncoder(w).Encode(adminapi.Bulk{ID: "b", Total: tc.found})
			}))
			defer server.Close()
			args := append([]string{"dlq", "bulk", "--url", server.URL + "/", "--group", "g", "--yes", "--no-follow", "--reason", "x"}, tc.args...)
			got := runProgram(t, nil, "", args...)
			if got.code != shell.ExitOK || !strings.Contains(got.stdout, tc.want) || len(posted) != tc.posts {
				t.Fatalf("%d requests, want %d; %+v, want %q", len(posted), tc.posts, got, tc.want)
			}
			given := posted[0].Filter.To
			for n, p := range posted {
				want := given
				if n > 0 && len(tc.args) < 2 { // by the clock of what was seen, not by this machine's
					want = last.Add(time.Microsecond)
				}
				if !p.Filter.To.Equal(want) || given.IsZero() == (len(tc.args) > 1) || p.DryRun != (n == 0) || p.Filter.Group != "g" {
					t.Errorf("request %d: %+v", n+1, p)
				}
			}
		})
	}
}

// An unset variable in a script is no order to replay everything.
func TestEmptyFilterSelectsNothing(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(adminapi.Selection{Items: make([]adminapi.Selected, 1)})
	}))
	defer server.Close()
	bulk := []string{"dlq", "bulk", "--yes", "--no-follow", "--reason", "x"}
	with := func(flags ...string) []string { return slices.Concat(bulk, flags) }
	for _, tc := range []struct {
		args []string
		want string
	}{
		{with("--event-type", ""), "--event-type"},
		{with("--event-type="), "--event-type"},
		{with("--outbox", "accOutbox", "--consumer", ""), "--consumer"},
		{with("--from", ""), "--from"},
		{with("--id", ""), "--id: it is empty"},
		{with("--id", "a", "--pin", ""), "--pin"},
		{bulk, "--all"},
		{with("--all", "--tier", "SAFE_AUTO"), "--all excludes"},
		{with("--all", "--id", "a"), "--all excludes"},
		{[]string{"dlq", "list", "--tier", ""}, "--tier"},
		{[]string{"dlq", "groups", "--trace-id", ""}, "--trace-id"},
		{[]string{"dlq", "audit", "--actor", ""}, "--actor"},
		{[]string{"queue", "list", "jobs", "--tenant", ""}, "--tenant"},
	} {
		got := runProgram(t, nil, "", slices.Concat(tc.args, []string{"--url", server.URL})...)
		if got.code != shell.ExitUsage || !strings.Contains(got.stderr, tc.want) {
			t.Errorf("%v: %+v, want exit code %d and %q", tc.args, got, shell.ExitUsage, tc.want)
		}
	}
	if asked > 0 {
		t.Errorf("the service was asked %d times", asked)
	}
	if got := runProgram(t, nil, "", "dlq", "bulk", "--all", "--dry-run", "--url", server.URL); got.code != shell.ExitOK || asked != 1 {
		t.Errorf("--all: %d requests; %+v", asked, got)
	}
}
