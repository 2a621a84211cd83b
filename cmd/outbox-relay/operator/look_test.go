package operator

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// absent is a desk in front of an API that answers the first look, is away for so many
// requests then, and answers with the last.
func absent(t *testing.T, away int, outage time.Duration, first, last any) (d *desk, stdout, stderr *strings.Builder) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := last
		switch n := int(asked.Add(1)); {
		case n == 1:
			answer = first
		case n <= 1+away && n%2 == 0: // the connection breaks
			panic(http.ErrAbortHandler)
		case n <= 1+away:
			http.Error(w, "", http.StatusBadGateway+n%3)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	client, err := adminapi.New(adminapi.Config{URL: server.URL, Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	stdout, stderr = &strings.Builder{}, &strings.Builder{}
	return &desk{Client: client, Process: shell.Process{Stdout: stdout, Stderr: stderr}, self: "outbox-relay dlq", patience: time.Hour, outage: outage, again: time.Millisecond}, stdout, stderr
}

// What is waited for outlives the instance that is asked, as in a deployment.
func TestWaitingLivesThroughADeployment(t *testing.T) {
	const away = 7
	t.Run("bulk", func(t *testing.T) {
		t.Parallel()
		d, _, stderr := absent(t, away, time.Hour, adminapi.Bulk{State: dlq.BulkRunning, Total: 2, Waiting: 2}, adminapi.Bulk{State: dlq.BulkDone, Total: 2, Delivered: 2})
		if err := d.follow(t.Context(), "b", true); err != nil {
			t.Fatal(err)
		}
		if got := stderr.String(); strings.Count(got, "the service does not answer") != 1 {
			t.Errorf("told %q, want once that it does not answer", got)
		}
	})
	t.Run("replay", func(t *testing.T) {
		t.Parallel()
		d, stdout, stderr := absent(t, away, time.Hour, adminapi.Item{Replaying: &adminapi.Request{}}, adminapi.Item{State: contracts.DeadReplayed})
		if err := d.await(t.Context(), "x", 0); err != nil {
			t.Fatal(err)
		}
		if stdout.String() != "delivered\n" || strings.Count(stderr.String(), "the service does not answer") != 1 {
			t.Errorf("told %q and %q", stdout, stderr)
		}
	})
}

func TestWhatWasLostSightOfIsNoFailure(t *testing.T) {
	const ever = 1 << 30
	for name, tc := range map[string]struct {
		first any
		wait  func(*desk) error
		want  []string
	}{
		"bulk": {
			adminapi.Bulk{State: dlq.BulkRunning, Total: 2, Waiting: 2},
			func(d *desk) error { return d.follow(t.Context(), "b", true) },
			[]string{"the service does not answer", "the bulk replay goes on", "outbox-relay dlq follow b", "outbox-relay dlq cancel b"},
		},
		"replay": {
			adminapi.Item{Replaying: &adminapi.Request{}},
			func(d *desk) error { return d.await(t.Context(), "x", 0) },
			[]string{"the service does not answer", "does not take the replay back", "outbox-relay dlq show x"},
		},
	} {
		d, _, _ := absent(t, ever, 0, tc.first, nil)
		err := withExitCode(tc.wait(d))
		if shell.Code(err) != shell.ExitGoesOn {
			t.Fatalf("%s: exit code %d with %v, want %d", name, shell.Code(err), err, shell.ExitGoesOn)
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: told %q, want %q", name, err, want)
			}
		}
	}
}

// A wrong address is told at once, as what it is.
func TestFirstLookInVainIsAFailure(t *testing.T) {
	d, _, stderr := counter(t, nil)
	d.outage = time.Hour
	client, err := adminapi.New(adminapi.Config{URL: "http://127.0.0.1:1", Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	d.Client = client
	if err := withExitCode(d.follow(t.Context(), "b", false)); shell.Code(err) != shell.ExitFailed || stderr.Len() > 0 {
		t.Errorf("%v, told %q", err, stderr)
	}
}

// What the API refuses is no outage.
func TestRefusedLookIsNotRepeated(t *testing.T) {
	d, _, stderr := counter(t, nil)
	d.outage = time.Hour
	if err := withExitCode(d.follow(t.Context(), "b", true)); shell.Code(err) != shell.ExitNotFound || stderr.Len() > 0 {
		t.Errorf("%v, told %q", err, stderr)
	}
}

func TestTracesNamedByDotsAreAskedFor(t *testing.T) {
	for traceID, want := range map[string]string{".": "/admin/v1/trace/%252E", "..": "/admin/v1/trace/%252E.", "a/b": "/admin/v1/trace/a%2Fb"} {
		var asked string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.RequestURI
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(adminapi.Timeline{})
		}))
		c := traceCmd{TraceID: traceID, apiFlags: apiFlags{URL: server.URL}}
		if err := c.Run(t.Context(), shell.Process{Stdout: io.Discard, Stderr: io.Discard, Env: shell.LookupIn(nil)}); err != nil || asked != want {
			t.Errorf("%q: asked for %s, want %s: %v", traceID, asked, want, err)
		}
		server.Close()
	}
}
