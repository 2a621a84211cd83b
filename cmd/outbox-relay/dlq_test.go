package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// Every dlq command against a service, as its user sees it.
func TestDLQCommands(t *testing.T) {
	thorough.EndToEnd(t)
	c := openClinic(t)
	c.serveWithin()
	wallet, account := c.aggregate("wallet"), c.aggregate("account")
	review := c.dead(contracts.ReviewRequired, wallet, 1)
	younger := c.dead(contracts.ReviewRequired, wallet, 2)
	blocked := c.dead(contracts.SecurityBlock, account, 1)
	trace := c.item(blocked).TraceID

	for _, tc := range []struct {
		name string
		who  string
		args []string
		code int
		want []string // on stdout or stderr
	}{
		{"list", "viewer", []string{"list"}, shell.ExitOK, []string{"DEAD SINCE", review, blocked, "accOutbox/WalletDeducted", "Internal: "}},
		{"list filters", "viewer", []string{"list", "--tier", "SECURITY_BLOCK", "--from", "1h"}, shell.ExitOK, []string{blocked}},
		{"list of nothing", "viewer", []string{"list", "--event-type", "Nothing"}, shell.ExitOK, []string{"no dead letters"}},
		{"list of a consumer's", "viewer", []string{"list", "--consumer", "notifications"}, shell.ExitOK, []string{"no dead letters"}},
		{"list by pages", "viewer", []string{"list", "--limit", "1"}, shell.ExitOK, []string{"the same with --page-token "}},
		{"list with a bad value", "viewer", []string{"list", "--tier", "MILD"}, shell.ExitUsage, []string{"tier"}},
		{"list with a bad time", "viewer", []string{"list", "--from", "yesterday"}, shell.ExitUsage, []string{"neither a time, in RFC 3339"}},
		{"show", "operator", []string{"show", review}, shell.ExitOK, []string{
			"WalletDeducted version 1 of " + wallet + " (accOutbox, CRITICAL_LANE) failed 3 attempts, last at FUNNEL_CRITICAL (Internal: ",
			"It waits for an operator.", "FAILED AT", "dlq --url " + c.url + " replay " + review + " --reason '...'", "no authorize now: ",
		}},
		{"show what is not there", "viewer", []string{"show", "nothing"}, shell.ExitNotFound, []string{"not found"}},
		{"groups", "viewer", []string{"groups"}, shell.ExitOK, []string{"COUNT", "WalletDeducted", "2"}},
		{"note", "operator", []string{"note", review, "--reason", "looked at it"}, shell.ExitOK, []string{"has a note; it is awaiting_review now"}},
		{"note by a viewer", "viewer", []string{"note", review, "--reason", "x"}, shell.ExitNotAllowed, []string{"role operator"}},
		{"without a token", "", []string{"note", review, "--reason", "x"}, shell.ExitNotAllowed, []string{"unauthorized"}},
		{"without a reason", "operator", []string{"note", review}, shell.ExitUsage, []string{"--reason"}},
		{"replay past an older one", "operator", []string{"replay", younger, "--reason", "x"}, shell.ExitConflict, []string{review}},
		{"replay before it is authorized", "operator", []string{"replay", blocked, "--reason", "x"}, shell.ExitConflict, []string{"authorize"}},
		{"authorize by an operator", "operator", []string{"authorize", blocked, "--reason", "x"}, shell.ExitNotAllowed, []string{"security"}},
		{"freezes", "viewer", []string{"freezes"}, shell.ExitOK, []string{account, "frozen"}},
		{"replay that fails", "operator", []string{"replay", review, "--wait", "--reason", "too early"}, shell.ExitNotAll, []string{"the replay failed: Internal: "}},
		{"show what is covered", "security", []string{"show", blocked}, shell.ExitOK, []string{"dlq --url " + c.url + " show " + blocked + " --uncover --reason '...'"}},
		{"uncover by an operator", "operator", []string{"show", blocked, "--uncover", "--reason", "x"}, shell.ExitNotAllowed, []string{"role security"}},
		{"uncover without a reason", "security", []string{"show", blocked, "--uncover"}, shell.ExitUsage, []string{"--uncover needs --reason"}},
		{"a reason for nothing", "security", []string{"show", blocked, "--reason", "x"}, shell.ExitUsage, []string{"--reason is for --uncover"}},
		{"uncover", "security", []string{"show", blocked, "--uncover", "--reason", "a report of the owner"}, shell.ExitOK, []string{`"payload": {`, `"eventType": "RoleChanged"`}},
		{"uncover as JSON", "security", []string{"show", blocked, "--uncover", "--json", "--reason", "once more"}, shell.ExitOK, []string{`"action": "uncover"`, `"payload": {`}},
		{"looks are audited", "viewer", []string{"audit", "--on", blocked, "--action", "uncover"}, shell.ExitOK, []string{"a report of the owner", "once more"}},
		{"authorize", "security", []string{"authorize", blocked, "--reason", "checked"}, shell.ExitOK, []string{"may be replayed; it is authorized now"}},
		{"withdraw by an operator", "operator", []string{"withdraw", blocked, "--reason", "x"}, shell.ExitNotAllowed, []string{"security"}},
		{"withdraw", "security", []string{"withdraw", blocked, "--reason", "too soon"}, shell.ExitOK, []string{"is not to be replayed any more; it is blocked now"}},
		{"withdraw again", "security", []string{"withdraw", blocked, "--reason", "x"}, shell.ExitConflict, []string{"nothing to withdraw"}},
		{"discard", "security", []string{"discard", blocked, "--reason", "made anew"}, shell.ExitOK, []string{"is given up; it is discarded now"}},
		{"discard again", "security", []string{"discard", blocked, "--reason", "made anew"}, shell.ExitConflict, []string{"discarded"}},
		{"release", "security", []string{"release", account, "--reason", "done"}, shell.ExitOK, []string{"is being released"}},
		{"release of what is not frozen", "security", []string{"release", "nobody", "--reason", "x"}, shell.ExitNotFound, nil},
		{"trace", "viewer", []string{"trace", trace}, shell.ExitOK, []string{"RoleChanged", "AT"}},
		{"audit", "viewer", []string{"audit", "--on", blocked}, shell.ExitOK, []string{"dev-security", "authorize", "withdraw", "discard", "made anew", "authorized"}},
		{"bulk without a terminal", "operator", []string{"bulk", "--tier", "REVIEW_REQUIRED", "--reason", "x"}, shell.ExitUsage, []string{"--yes"}},
		{"bulk without a reason", "operator", []string{"bulk", "--all", "--yes"}, shell.ExitUsage, []string{"--reason is required"}},
		{"rehearsal", "operator", []string{"bulk", "--event-type", "WalletDeducted", "--dry-run"}, shell.ExitOK, []string{"2 dead letters would be replayed", review}},
		{"bulks before the first", "operator", []string{"bulks"}, shell.ExitOK, []string{"no bulk replays"}},
		{"follow of nothing", "operator", []string{"follow", "nothing"}, shell.ExitNotFound, nil},
		{"bulks by a viewer", "viewer", []string{"bulks"}, shell.ExitNotAllowed, []string{"role operator"}},
		{"bulk of nothing", "operator", []string{"bulk", "--event-type", "Nothing", "--yes", "--reason", "x"}, shell.ExitOK, []string{"nothing to do"}},
		{"cancel of nothing", "operator", []string{"cancel", "nothing", "--reason", "x"}, shell.ExitNotFound, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env := map[string]string{"OUTBOX_RELAY_URL": "http://127.0.0.1:1", "OUTBOX_RELAY_TOKEN": ""}
			if tc.who != "" {
				env["OUTBOX_RELAY_TOKEN"] = "dev-" + tc.who
			}
			got := runProgram(t, env, "", append([]string{"dlq", tc.args[0], "--url", c.url}, tc.args[1:]...)...)
			if got.code != tc.code {
				t.Errorf("exit code %d, want %d; %+v", got.code, tc.code, got)
			}
			for _, want := range tc.want {
				if !strings.Contains(got.stdout+got.stderr, want) {
					t.Errorf("%q is in neither output: %+v", want, got)
				}
			}
			if tc.who != "" && strings.Contains(got.stdout+got.stderr, "TOKEN=") {
				t.Errorf("the token is told: %+v", got)
			}
		})
	}

	t.Run("pages of a time that counts back from now", func(t *testing.T) {
		credit := c.aggregate("credit")
		c.refused(credit, c.recordOf("accOutbox", "WalletCredited", credit, 1)) // a second group
		for _, args := range [][]string{{"list", "--from", "24h", "--to=-1h"}, {"audit", "--from", "24h"}, {"groups", "--from", "24h"}} {
			args = append(args, "--limit", "1")
			first := c.dlq("viewer", args...)
			_, token, _ := strings.Cut(strings.TrimSpace(first.stderr), "--page-token ")
			second := c.dlq("viewer", append(args, "--page-token", token)...)
			if first.code != shell.ExitOK || second.code != shell.ExitOK || token == "" || second.stdout == first.stdout {
				t.Errorf("%v: %+v, then %+v", args, first, second)
			}
		}
	})
	t.Run("bulk to its end without a terminal", func(t *testing.T) {
		c.broker.accept()
		got := c.dlq("operator", "bulk", "--event-type", "WalletDeducted", "--yes", "--reason", "mended")
		if got.code != shell.ExitOK || !regexp.MustCompile(`(?m)^2 of 2: 2 delivered, 0 failed, 0 passed over, 0 in delivery; done$`).MatchString(got.stdout) ||
			strings.Contains(got.stdout, "\x1b") {
			t.Errorf("bulk: %+v", got)
		}
		if out := c.mustDLQ("operator", "bulks"); !strings.Contains(out, "done") || !strings.Contains(out, "dev-operator") {
			t.Errorf("bulks: %s", out)
		}
	})
	t.Run("JSON is the API's own", func(t *testing.T) { c.compareGolden(t, review) })
}

// compareGolden holds what a script reads against testdata, less what differs
// from run to run.
func (c *clinic) compareGolden(t *testing.T, id string) {
	for name, args := range map[string][]string{
		"list":   {"list", "--json", "--any", "--event-type", "WalletDeducted"},
		"show":   {"show", "--json", id},
		"groups": {"groups", "--json", "--any", "--event-type", "WalletDeducted"},
		"audit":  {"audit", "--json", "--on", id},
		"bulks":  {"bulks", "--json"},
	} {
		got := steady(c.mustDLQ("operator", args...), c)
		file := filepath.Join("testdata", "dlq-"+name+".json")
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

var (
	goldenTimes = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+Z"`)
	goldenUUIDs = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	goldenHexes = regexp.MustCompile(`\b[0-9a-f]{16,}\b`)
	goldenETags = regexp.MustCompile(`"etag": ".*"`)
	goldenBody  = regexp.MustCompile(`(?s)"payload": \{.*?\n( *)\}`)
	// A record's copy has the attempts that were marked. The last is missing where the next,
	// whose wait may be next to nothing, came first: the dead letter took its mark's place.
	goldenMarks = regexp.MustCompile(`(?s)"attemptErrors": \[.*?\],\n( *)"attempts": \d+,`)
)

// steady takes out of an answer what no two runs have in common.
func steady(text string, c *clinic) string {
	text = strings.ReplaceAll(text, c.aggregate("wallet"), "wallet")
	text = goldenBody.ReplaceAllString(text, `"payload": {}`)
	text = goldenMarks.ReplaceAllString(text, "\"attemptErrors\": [],\n$1\"attempts\": 0,")
	text = goldenTimes.ReplaceAllString(text, `"TIME"`)
	text = goldenUUIDs.ReplaceAllString(text, "UUID")
	text = goldenETags.ReplaceAllString(text, `"etag": "ETAG"`)
	return goldenHexes.ReplaceAllString(text, "HEX")
}

func TestDLQTellsAnUnreachableService(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	got := runProgram(t, nil, "", "dlq", "list", "--url", server.URL, "--token", "s3cret")
	if got.code != shell.ExitFailed || !strings.Contains(got.stderr, "connection refused") || strings.Contains(got.stderr, "s3cret") {
		t.Errorf("list: %+v", got)
	}
	if got := runProgram(t, nil, "", "dlq", "list", "--url", "http://relay.example.com", "--token", "s3cret"); got.code != shell.ExitUsage ||
		!strings.Contains(got.stderr, "in the clear") || strings.Contains(got.stderr, "s3cret") {
		t.Errorf("list with a token in the clear: %+v", got)
	}
}

func TestDLQHelpTellsExitCodes(t *testing.T) {
	for _, command := range []string{"list", "show", "replay", "bulk", "audit"} {
		got := runProgram(t, nil, "", "dlq", command, "--help")
		for _, want := range []string{"Exit codes", "5 refused", "6 not found", "7 not allowed", "8 not all was delivered", "$OUTBOX_RELAY_URL"} {
			if got.code != shell.ExitOK || !strings.Contains(strings.Join(strings.Fields(got.stdout), " "), want) {
				t.Errorf("dlq %s --help lacks %q:\n%s", command, want, got.stdout)
			}
		}
	}
}

// A bulk replay as an API of the test's tells it, look by look.
func TestDLQFollow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		looks []adminapi.Bulk
		code  int
		want  string
		why   string
	}{
		{"to a good end", []adminapi.Bulk{
			{State: dlq.BulkRunning, Phase: "canary", Total: 10, Delivered: 1, Replaying: 4},
			{State: dlq.BulkRunning, Phase: "ramp", Total: 10, Delivered: 5, Replaying: 5},
			{State: dlq.BulkDone, Total: 10, Delivered: 10},
		}, shell.ExitOK, "1 of 10: 1 delivered, 0 failed, 0 passed over, 4 in delivery; canary\n" +
			"5 of 10: 5 delivered, 0 failed, 0 passed over, 5 in delivery; ramp\n" +
			"10 of 10: 10 delivered, 0 failed, 0 passed over, 0 in delivery; done\n", ""},
		{
			"stopped",
			[]adminapi.Bulk{{State: dlq.BulkStopped, Total: 10, Failed: 5, EndReason: "too many\x1b[2J failed"}},
			shell.ExitNotAll,
			"5 of 10: 0 delivered, 5 failed, 0 passed over, 0 in delivery; stopped\n", "too many\uFFFD[2J failed",
		},
		{
			"cancelled",
			[]adminapi.Bulk{{State: dlq.BulkCancelled, Total: 3, Delivered: 1, CancelledBy: "bob"}},
			shell.ExitNotAll,
			"1 of 3: 1 delivered, 0 failed, 0 passed over, 0 in delivery; cancelled\n", "cancelled by bob",
		},
		{
			"some failed",
			[]adminapi.Bulk{{State: dlq.BulkDone, Total: 3, Delivered: 1, Failed: 1, Skipped: 1}},
			shell.ExitNotAll,
			"3 of 3: 1 delivered, 1 failed, 1 passed over, 0 in delivery; done\n", "1 of 3 were delivered, 1 failed, 1 were passed over",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(tc.looks[min(n, len(tc.looks)-1)])
				n++
			}))
			defer server.Close()
			got := runProgram(t, nil, "", "dlq", "follow", "b", "--url", server.URL)
			if diff := cmp.Diff(tc.want, got.stdout); diff != "" || got.code != tc.code || !strings.Contains(got.stderr, tc.why) {
				t.Errorf("exit code %d, want %d; stderr %q, want %q; stdout (-want +got):\n%s", got.code, tc.code, got.stderr, tc.why, diff)
			}
		})
	}
}

// Ctrl-C ends the following, not the bulk replay.
func TestDLQFollowInterrupted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(adminapi.Bulk{State: dlq.BulkRunning, Phase: "ramp", Total: 9, Waiting: 9})
	}))
	defer server.Close()
	run := startProgram(t, nil, "dlq", "follow", "b", "--url", server.URL)
	run.stdout.find(t, "(0 of 9)")
	if code := run.stop(t); code != shell.ExitGoesOn {
		t.Errorf("exit code %d, want %d", code, shell.ExitGoesOn)
	}
	for _, want := range []string{"the bulk replay goes on", "dlq --url " + server.URL + " cancel b --reason '...'"} {
		if !strings.Contains(run.stderr.String(), want) {
			t.Errorf("%q is not told:\n%s", want, run.stderr)
		}
	}
}

func TestServeRefusesDevTokensOnTheNetwork(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"all addresses", map[string]string{"AUTH_MODE": "dev"}, "not loopback"},
		{"an address of the network", map[string]string{"AUTH_MODE": "dev", "HOST": "10.1.2.3"}, "not loopback"},
		{"a name", map[string]string{"AUTH_MODE": "dev", "HOST": "relay.internal"}, "not loopback"},
		{"oidc without an audience", map[string]string{"AUTH_MODE": "oidc"}, "needs an audience"},
		{"iap without roles", map[string]string{"AUTH_MODE": "iap", "AUTH_AUDIENCE": "/projects/1/x"}, "needs a roles file"},
		{"an unknown mode", map[string]string{"AUTH_MODE": "none"}, "--auth-mode"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.env["GOOGLE_CLOUD_PROJECT"] = "p"
			got := runProgram(t, tc.env, "", "serve", "--port", "0")
			if got.code != shell.ExitUsage || !strings.Contains(got.stderr, tc.want) {
				t.Errorf("exit code %d, stderr %q; want %d and %q", got.code, got.stderr, shell.ExitUsage, tc.want)
			}
		})
	}
}
