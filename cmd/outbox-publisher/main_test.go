package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/postgres/postgrestest"
)

// asProgram makes the test binary run the program in place of the tests, so that a test can signal a
// real process.
const asProgram = "OUTBOX_PUBLISHER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(postgrestest.Main(m),
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		// The client's subscriber leaves it behind for a while.
		goleak.IgnoreTopFunction("cloud.google.com/go/pubsub/v2.(*messageIterator).streamKeepAliveHandler"))
}

// patience of a test with a real process or socket.
const patience = 3 * time.Minute

// runProgram runs the program within the test, to its end.
func runProgram(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	code = run(ctx, args, shell.LookupIn(env), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestBadSettingsAreToldAtOnce(t *testing.T) {
	code, _, stderr := runProgram(t, map[string]string{
		"DATABASE_URL": "postgres://shop:s3cret@db:not-a-port/shop", "PORT": "70000",
		"PACKFINDERZ_OUTBOX_PUBLISH_BATCH_SIZE": "0", "PACKFINDERZ_OUTBOX_PUBLISH_POLL_MS": "soon",
		"PACKFINDERZ_OUTBOX_MAX_ATTEMPTS": "-1", "PACKFINDERZ_OUTBOX_IDEMPOTENCY_TTL_HOURS": "24",
	})
	if code != shell.ExitUsage {
		t.Errorf("exit code %d, want %d", code, shell.ExitUsage)
	}
	for _, want := range []string{
		"DATABASE_URL cannot be read", "no project: set GOOGLE_CLOUD_PROJECT", `BATCH_SIZE (--batch-size) is "0", want a number from 1 to 1000`,
		`POLL_MS (--poll-ms) is "soon"`, `MAX_ATTEMPTS (--max-attempts) is "-1"`, `TTL_HOURS (--idempotency-ttl-hours) is "24", want a number from 168`,
		"PORT (--port) is 70000",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not in:\n%s", want, stderr)
		}
	}
	if strings.Contains(stderr, "s3cret") {
		t.Errorf("the password is in:\n%s", stderr)
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"no database", nil, []string{"migrate", "up"}, "no database: set DATABASE_URL"},
		{"no command", nil, []string{"go"}, "see outbox-publisher --help"},
		{"no ID", map[string]string{"DATABASE_URL": "postgres://x"}, []string{"retry", "12", "x"}, `"12" is no ID of a row`},
		{"no limit", map[string]string{"DATABASE_URL": "postgres://x"}, []string{"list", "--limit", "0"}, "--limit is 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if code, _, stderr := runProgram(t, test.env, test.args...); code != shell.ExitUsage || !strings.Contains(stderr, test.want) {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
	if code, stdout, _ := runProgram(t, nil, "--version"); code != 0 || !strings.HasPrefix(stdout, "outbox-publisher ") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}
