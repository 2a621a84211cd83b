package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/postgres"
	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/deploy/local/redis"
	"outboxrelay/deploy/local/redis/redistest"
)

func TestLocalKeepsThePromise(t *testing.T) {
	t.Parallel()
	if !postgres.Installed() || !redis.Installed() {
		t.Skip("needs Postgres and Redis: apt-get install postgresql redis-server")
	}
	code, stdout, stderr := runProgram(t, nil, "local", "--records", "300", "--http", "127.0.0.1:0")
	if code != 0 || !strings.Contains(stdout, "committed 300, rolled back ") || !strings.Contains(stdout, "handled 300, lost 0, out of order 0, with two effects 0") {
		t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
	}
}

// What the URL says of the pool is for the pool alone: a server refuses it.
func TestLocalTakesSettingsOfThePool(t *testing.T) {
	t.Parallel()
	env := map[string]string{"DATABASE_URL": with(postgrestest.Database(t), "pool_max_conns=5"), "REDIS_URL": redistest.URL(t)}
	code, stdout, stderr := runProgram(t, env, "local", "--records", "20", "--http", "127.0.0.1:0")
	if code != 0 || !strings.Contains(stdout, "handled 20, lost 0") {
		t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
	}
}

// stopsAt calls stop once a text is printed.
type stopsAt struct {
	bytes.Buffer
	text string
	stop func()
}

func (w *stopsAt) Write(b []byte) (int, error) {
	defer func() {
		if strings.Contains(w.String(), w.text) {
			w.stop()
		}
	}()
	return w.Buffer.Write(b)
}

// A run that was to handle so many events and did not is no success, and names what is missing.
func TestLocalThatIsStoppedSaysSo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--records", "1000000", "--rate", "10"}, shell.ExitStopped, " of 1000000 events were not handled"},
		{[]string{"--rate", "10"}, shell.ExitOK, ""},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			env := map[string]string{"DATABASE_URL": postgrestest.Database(t), "REDIS_URL": redistest.URL(t)}
			out, errs := &stopsAt{text: "committed ", stop: cancel}, &bytes.Buffer{}
			code := run(ctx, append([]string{"local", "--http", "127.0.0.1:0"}, test.args...), shell.LookupIn(env), strings.NewReader(""), out, errs)
			if code != test.code || !strings.Contains(errs.String(), test.says) {
				t.Errorf("exit code %d, want %d, and %q in:\n%s%s", code, test.code, test.says, out, errs)
			}
		})
	}
}

func TestLocalUsage(t *testing.T) {
	code, _, stderr := runProgram(t, nil, "local", "--records=-1", "--rate=-2")
	if code != 2 || !strings.Contains(stderr, "--records is -1") || !strings.Contains(stderr, "--rate is -2") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
