package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/shell"
)

// Flags that no service could make sense of are refused before one is asked, and say what they take.
func TestFlagsOfOperatorsAreJudgedBeforeTheServiceIsAsked(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"dlq list --tier=bogus", `--tier: "bogus" is none of SAFE_AUTO, REVIEW_REQUIRED, SECURITY_BLOCK`},
		{"dlq groups --state=bogus", `--state: "bogus" is none of scheduled, awaiting_review, blocked, authorized, replayed, discarded`},
		{"dlq bulk --reason=x --yes --lane=bogus", `--lane: "bogus" is none of CRITICAL_LANE, STANDARD_LANE, BACKGROUND_LANE`},
		{"dlq list --dead-reason=bogus", `--dead-reason: "bogus" is none of ATTEMPTS_EXHAUSTED, CONTRACT_VIOLATION, PERMANENT_FAILURE, CLAIMS_REFRESH_FAILED, RESTORED`},
		{"dlq audit --subject=bogus", `--subject: "bogus" is none of dead_letter, freeze, lane, bulk_replay, outbox, queue_item, access`},
		{"lanes pause bogus", `<lane>: "bogus" is none of CRITICAL_LANE, STANDARD_LANE, BACKGROUND_LANE`},
		{"lanes resume critical_lane", `<lane>: "critical_lane" is none of CRITICAL_LANE`},
		{"queue list bogus", `[<queue>]: "bogus" is none of jobs, notifications`},
		{"queue show bogus a/b", `<queue>: "bogus" is none of jobs, notifications`},
		{"queue requeue bogus a/b --reason=x", `<queue>: "bogus" is none of jobs, notifications`},
		{"dlq list --tier=SAFE_AUTO --tier=REVIEW_REQUIRED", `--tier: it is given twice, as "SAFE_AUTO" and as "REVIEW_REQUIRED"`},
		{"dlq bulk --reason=x --yes --event-type=A --event-type=B", `--event-type: it is given twice, as "A" and as "B"`},
		{"dlq list --from=1h --from=2h", "--from: it is given twice"},
		{"dlq list --from=2h --to=3h", "--from is not before --to"},
		{"dlq bulk --reason=x --yes --from=2h --to=2026-01-01T00:00:00Z", "--from is not before --to"},
		{"dlq audit --from=2026-02-01T00:00:00Z --to=2026-01-01T00:00:00Z", "--from is not before --to"},
		{"dlq list --limit=0", `--limit: "0" is not 1 to 200`},
		{"dlq freezes --limit=-1", `--limit: "-1" is not 1 to 200`},
		{"queue list jobs --limit=201", `--limit: "201" is not 1 to 200`},
		{"dlq bulks --limit=many", `--limit: "many" is not 1 to 200`},
		{"dlq bulk --all --reason=x --yes --rate=NaN", "--rate is NaN, want more than 0 and at most 1000"},
		{"dlq bulk --all --reason=x --yes --rate=0", "--rate is 0, want more than 0 and at most 1000"},
		{"dlq bulk --all --reason=x --yes --rate=1e9", "--rate is 1e+09, want more than 0 and at most 1000"},
		{"dlq list --token=a --token-command=b", "--token and --token-command: give one of them"},
	} {
		args := append(strings.Fields(tc.args), "--url=http://127.0.0.1:1") // where nothing listens
		if got := runProgram(t, nil, "", args...); got.code != shell.ExitUsage || !strings.Contains(got.stderr, tc.want) {
			t.Errorf("%s: %+v, want exit code %d and %q", tc.args, got, shell.ExitUsage, tc.want)
		}
	}
}

// Flags that contradict each other, and values that mean nothing, are refused with what to do.
func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"local --rate=NaN", "--rate is NaN, want 0 or more"},
		{"local --rate=Inf", "--rate is +Inf, want 0 or more"},
		{"local --rate=-1", "--rate is -1, want 0 or more"},
		{"local --records=0", "--records is 0, want more than 0"},
		{"local --fault-after=1s", "--fault-after is about the outage of --fault"},
		{"local --fault-target=NOBODY", "--fault-target is about the outage of --fault"},
		{"local --stand-in=A=b --stand-in=A=c", "--stand-in gives target A two topics, b and c"},
		{"cost --retention=5h --on-delivered=delete", "--retention is for records that are marked"},
		{"cost --split=", "--split: it is empty"},
		{"restore --before=2026-01-01T00:00:00Z --as=review --dry-run --project=p --outbox=bogus", `--outbox: the catalog has no outbox bogus`},
		{"doctor --offline --url=http://127.0.0.1:1", "--offline asks nobody, and --url names a service"},
		{"doctor --token=a --token-command=b", "--token and --token-command: give one of them"},
	} {
		if got := runProgram(t, nil, "", strings.Fields(tc.args)...); got.code != shell.ExitUsage || !strings.Contains(got.stderr, tc.want) {
			t.Errorf("%s: %+v, want exit code %d and %q", tc.args, got, shell.ExitUsage, tc.want)
		}
	}
}

// A token that some variable has does not keep the command from being asked that was given.
func TestATokenCommandThatIsGivenWinsOverTheVariableOfAToken(t *testing.T) {
	var authorized string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorized = r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items": []}`))
	}))
	defer server.Close()
	both := map[string]string{"OUTBOX_RELAY_TOKEN": "stale", "OUTBOX_RELAY_TOKEN_COMMAND": "echo other"}
	for flags, want := range map[string]string{"": "Bearer stale", "--token=given": "Bearer given", "--token-command=echo fresh": "Bearer fresh"} {
		args := []string{"dlq", "list", "--url", server.URL}
		if flags != "" {
			args = append(args, flags)
		}
		if got := runProgram(t, both, "", args...); got.code != shell.ExitOK || authorized != want {
			t.Errorf("%q: sent %q, want %q; %+v", flags, authorized, want, got)
		}
	}
}

// A script that goes from page to page has no token for the first one, as an answer has none on the last.
func TestAnEmptyPageTokenAsksForTheFirstPage(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("pageToken"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items": []}`))
	}))
	defer server.Close()
	for _, list := range []string{"dlq list", "dlq freezes", "dlq bulks", "dlq audit", "queue list jobs"} {
		for _, args := range [][]string{{"--page-token="}, {"--page-token", ""}, {"--page-token", "next"}} {
			asked = nil
			args = append(append(strings.Fields(list), "--url", server.URL), args...)
			want := strings.TrimPrefix(args[len(args)-1], "--page-token=")
			if got := runProgram(t, nil, "", args...); got.code != shell.ExitOK || len(asked) != 1 || asked[0] != want {
				t.Errorf("%q: asked for %q, want %q; %+v", args, asked, want, got)
			}
		}
	}
}
