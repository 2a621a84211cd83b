package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/relay"
	"outboxrelay/relay/lease"
)

func TestParseServe(t *testing.T) {
	tuning := relay.DefaultTuning()
	defaults := tuningFlags{
		CanaryInterval: tuning.CanaryInterval, SilenceBound: tuning.SilenceBound, SweepInterval: tuning.SweepInterval,
		SweepAge: tuning.SweepAge, StopBudget: tuning.StopBudget,
	}
	base := func(change func(*serveCmd)) *serveCmd {
		c := &serveCmd{
			Host: "0.0.0.0", Port: 8080, projectFlags: projectFlags{Database: "(default)"},
			leaseFlags:  leaseFlags{LeaseTerm: lease.DefaultTerm},
			queueFlags:  queueFlags{smtpFlags: smtpFlags{SMTPPort: 587, SMTPTLS: "starttls"}},
			tuningFlags: defaults, logFlags: logFlags{LogLevel: "info", LogFormat: "json"},
		}
		change(c)
		return c
	}
	for _, tc := range []struct {
		name string
		args []string
		env  map[string]string
		want *serveCmd
	}{
		{"defaults", nil, nil, base(func(*serveCmd) {})},
		{"from the environment", nil, map[string]string{
			"HOST": "127.0.0.1", "PORT": "9", "GOOGLE_CLOUD_PROJECT": "p", "CATALOG": "c.yaml", "ENSURE_TOPICS": "true",
			"LOG_LEVEL": "debug", "LOG_FORMAT": "console", "CANARY_INTERVAL": "1s", "STOP_BUDGET": "3s", "FIRESTORE_DATABASE": "d",
			envLeaseTerm: "5s", "INSTANCE": "relay-a",
		}, base(func(c *serveCmd) {
			c.Host, c.Port, c.Project, c.Database, c.Catalog, c.EnsureTopics = "127.0.0.1", 9, "p", "d", "c.yaml", true
			c.LogLevel, c.LogFormat, c.CanaryInterval, c.StopBudget = "debug", "console", time.Second, 3*time.Second
			c.LeaseTerm, c.Instance = 5*time.Second, "relay-a"
		})},
		{"a flag wins over the environment", []string{"--port", "1"}, map[string]string{"PORT": "2"}, base(func(c *serveCmd) { c.Port = 1 })},
		{"an empty variable is not set", nil, map[string]string{"PORT": ""}, base(func(*serveCmd) {})},
		{"stand-ins", []string{"--stand-in", "A=a,B=b"}, nil, base(func(c *serveCmd) { c.StandIn = []string{"A=a", "B=b"} })},
		{"queues", []string{"--queues", "jobs,notifications", "--smtp-host", "mail", "--smtp-from", "a@example.com"}, map[string]string{"JOBS_TOPIC": "t"}, base(func(c *serveCmd) {
			c.Queues, c.SMTPHost, c.SMTPFrom, c.JobsTopic = []string{"jobs", "notifications"}, "mail", "a@example.com", "t"
		})},
		{"stand-ins from the environment", nil, map[string]string{"STAND_IN": "A=a"}, base(func(c *serveCmd) { c.StandIn = []string{"A=a"} })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			got, err := parse(append([]string{"serve"}, tc.args...), shell.LookupIn(tc.env), &stdout, &stderr)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(serveCmd{}, queueFlags{})); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTuningDefaultsAreTheRelays(t *testing.T) {
	got, err := parse([]string{"serve"}, shell.LookupIn(nil), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(relay.DefaultTuning(), got.(*serveCmd).tuning()); diff != "" {
		t.Errorf("tuning (-relay +flags):\n%s", diff)
	}
}

func TestParseIgnoresTheRealEnvironment(t *testing.T) {
	t.Setenv("PORT", "1")
	got, err := parse([]string{"serve"}, shell.LookupIn(nil), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if port := got.(*serveCmd).Port; port != 8080 {
		t.Errorf("port %d was taken from the process's environment", port)
	}
}

func TestUsageErrors(t *testing.T) {
	project := map[string]string{"GOOGLE_CLOUD_PROJECT": "p"}
	for _, tc := range []struct {
		name string
		args []string
		env  map[string]string
		want string // in stderr
	}{
		{"no command", nil, nil, `expected one of "local"`},
		{"a group of commands", []string{"catalog"}, nil, `expected one of "validate"`},
		{"an unknown command", []string{"fly"}, nil, "unexpected argument fly"},
		{"an unknown flag", []string{"serve", "--fly"}, nil, "unknown flag --fly"},
		{"no project", []string{"serve"}, nil, "GOOGLE_CLOUD_PROJECT"},
		{"a port out of range", []string{"serve", "--port", "70000"}, nil, "want 0 to 65535"},
		{"a port that is no number", []string{"serve"}, map[string]string{"PORT": "http"}, "environment variable PORT: --port: "},
		{"an unknown log level", []string{"serve", "--log-level", "loud"}, nil, "--log-level"},
		{"an interval of zero", []string{"serve", "--sweep-interval", "0s"}, nil, "--sweep-interval is 0s"},
		{"a lease that is too short", []string{"serve", "--lease-term", "999ms"}, nil, "--lease-term is 999ms"},
		{"a malformed stand-in", []string{"serve", "--stand-in", "A"}, nil, "want TARGET=TOPIC"},
		{"a stand-in for nothing", []string{"serve", "--stand-in", "NOBODY=ier-nobody"}, project, "stand in for target NOBODY"},
		{"a catalog that is not there", []string{"serve", "--catalog", "/nonexistent.yaml"}, project, "load catalog"},
		{"an admin address on the network", []string{"cloud", "--admin", "0.0.0.0:1"}, nil, "loopback"},
		{"an admin address without a port", []string{"cloud", "--admin", "127.0.0.1"}, nil, "want HOST:PORT"},
		{"a Firestore address without a port", []string{"cloud", "--firestore", "foo"}, nil, `--firestore "foo": want HOST:PORT`},
		{"a Pub/Sub port that is none", []string{"cloud", "--pubsub", "127.0.0.1:x"}, nil, "--pubsub"},
		{"an Auth port that is none", []string{"cloud", "--auth", "127.0.0.1:70000"}, nil, "--auth"},
		{"a console on the network", []string{"local", "--http", ":8080"}, nil, "loopback"},
		{"records without samples", []string{"local", "--no-samples", "--records", "1"}, nil, "--no-samples"},
		{"an outage of nothing", []string{"local", "--fault", "--fault-target", "NOBODY"}, nil, "NOBODY"},
		{"neither samples nor a file", []string{"append"}, project, "either --samples N or a file"},
		{"samples and a file", []string{"append", "--samples", "1", "-"}, project, "either --samples N or a file"},
		{"samples without an outbox", []string{"append", "--samples", "1"}, project, "--outbox"},
		{"an unknown outbox", []string{"append", "--samples", "1", "--outbox", "noOutbox"}, project, "noOutbox"},
		{"a file that is not there", []string{"append", "/nonexistent.jsonl"}, project, "nonexistent.jsonl"},
		{"a file that is a folder", []string{"append", "."}, project, "read ."},
		{"a lane that is empty", []string{"lanes", "pause", ""}, nil, "<lane> is empty"},
		{"a dead letter that is empty", []string{"dlq", "show", ""}, nil, "<id> is empty"},
		{"a queue that is empty", []string{"queue", "list", ""}, nil, "<queue> is empty"},
		{"a catalog that is empty", []string{"catalog", "validate", ""}, nil, "<file> is empty"},
		{"an old catalog that is empty", []string{"catalog", "diff", "", "new.yaml"}, nil, "<old> is empty"},
		{"a directory that is empty", []string{"cloud", "--data-dir=", "--admin", "127.0.0.1"}, nil, "--data-dir: it is empty"},
		{"a directory of local that is empty", []string{"local", "--data-dir", "", "--http", ":8080"}, nil, "--data-dir: it is empty"},
		{"prices that are empty", []string{"cost", "--prices", ""}, nil, "--prices: it is empty"},
		{"a catalog of the environment that is not there", []string{"serve"}, map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "CATALOG": "/nonexistent.yaml"}, "environment variable CATALOG: load catalog: "},
		{"a day that no change has", []string{"catalog", "diff", "a", "b", "--on", "0001-01-01"}, nil, `--on: "0001-01-01" is a day before 1970`},
		{"a day that is none", []string{"catalog", "diff", "a", "b", "--on", "2026-02-30"}, nil, `--on: "2026-02-30" is no day, such as 2026-03-01`},
		{"an export before there was Firestore", []string{"restore", "--before", "0001-01-01T00:00:00Z", "--as", "review"}, project, `"0001-01-01T00:00:00Z" is a time before 1970`},
		{"an outage of no time", []string{"local", "--fault", "--fault-for", "0s"}, nil, "--fault-for is 0s, want more than 0"},
		{"an outage before the start", []string{"local", "--fault", "--fault-after=-1s"}, nil, "--fault-after is -1s, want 0 or more"},
		{"an export that is yet to come", []string{"restore", "--before", "2999-01-01T00:00:00Z", "--as", "delivered", "--dry-run"}, project, "lies ahead of now"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := runProgram(t, tc.env, "", tc.args...)
			if got.code != shell.ExitUsage || !strings.Contains(got.stderr, tc.want) {
				t.Errorf("exit code %d, stderr %q; want %d and %q", got.code, got.stderr, shell.ExitUsage, tc.want)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want []string // in stdout
	}{
		{[]string{"--help"}, []string{"serve", "local", "cloud", "catalog", "append", "Exit codes"}},
		{[]string{"serve", "--help"}, []string{"$GOOGLE_CLOUD_PROJECT", "$PORT", "/readyz"}},
		{[]string{"append", "--help"}, []string{"Exit codes"}},
		{[]string{"cost", "--help"}, []string{"Default 1KiB.", "Default 0.1%.", "Default europe-west1."}},
		{[]string{"cloud", "--help"}, []string{"Default", "127.0.0.1:8081", "127.0.0.1:8085", "127.0.0.1:9099"}},
		{[]string{"catalog", "requirements", "--help"}, []string{"Print topics, indexes"}},
		{[]string{"--version"}, []string{"outbox-relay"}},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			got := runProgram(t, nil, "", tc.args...)
			if got.code != shell.ExitOK {
				t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
			}
			for _, want := range tc.want {
				if !strings.Contains(got.stdout, want) {
					t.Errorf("%q is not in the output:\n%s", want, got.stdout)
				}
			}
		})
	}
}
