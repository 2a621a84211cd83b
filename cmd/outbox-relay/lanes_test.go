package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/contracts"
)

func TestLanesCommands(t *testing.T) {
	const warning = "Firestore cannot be reached: who paused what is not known"
	var asked, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(adminapi.Lanes{Warning: warning, Items: []adminapi.Lane{
				{Lane: contracts.CriticalLane, SLAMillis: 500, P50Millis: 2, P99Millis: 9, Queued: 1, InFlight: 2, Waiting: 3, Delivered: 40},
				{Lane: contracts.BackgroundLane, SLAMillis: 30000, Paused: true, PausedBy: "alice", PauseReason: "the consumer moves"},
				{Lane: contracts.StandardLane, Unsettled: []adminapi.Unsettled{{Outbox: "wsOutbox", Records: 12, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}},
			}})
			return
		}
		var why adminapi.Why
		_ = json.NewDecoder(r.Body).Decode(&why)
		body = why.Reason
		_ = json.NewEncoder(w).Encode(adminapi.LaneControl{
			Lane: contracts.BackgroundLane, Paused: strings.HasSuffix(r.URL.Path, "/pause"), By: "alice", Reason: why.Reason,
		})
	}))
	t.Cleanup(server.Close)
	for _, tc := range []struct {
		args               []string
		asks, with, prints string
	}{
		{[]string{"list"}, "GET /admin/v1/lanes", "", "CRITICAL_LANE    500ms  2ms  9ms  6        40         runs"},
		{[]string{"list"}, "GET /admin/v1/lanes", "", "paused by alice: the consumer moves"},
		{[]string{"list"}, "GET /admin/v1/lanes", "", "runs; 12 of wsOutbox not settled, Firestore has taken no commit since 2026-01-02T03:04:05Z"},
		{[]string{"pause", "BACKGROUND_LANE", "--reason", "it moves"}, "POST /admin/v1/lanes/BACKGROUND_LANE/pause", "it moves", "BACKGROUND_LANE is paused on all instances, says alice: it moves\n"},
		{[]string{"resume", "BACKGROUND_LANE"}, "POST /admin/v1/lanes/BACKGROUND_LANE/resume", "", "BACKGROUND_LANE runs on all instances, says alice\n"},
		{[]string{"pause", "BACKGROUND_LANE", "--json"}, "POST /admin/v1/lanes/BACKGROUND_LANE/pause", "", `"paused": true`},
	} {
		asked, body = "", ""
		var stdout, stderr strings.Builder
		code := run(t.Context(), append([]string{"lanes"}, append(tc.args, "--url", server.URL, "--token", "x")...), func(string) (string, bool) { return "", false }, strings.NewReader(""), &stdout, &stderr)
		if code != 0 || asked != tc.asks || body != tc.with || !strings.Contains(stdout.String(), tc.prints) {
			t.Errorf("%v: exit code %d, asked %q with %q: %s%s", tc.args, code, asked, body, stdout.String(), stderr.String())
		}
		if listed := tc.args[0] == "list"; listed != (stderr.String() == warning+"\n") {
			t.Errorf("%v: warns %q", tc.args, stderr.String())
		}
	}
}
