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
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"--records=-1", "--rate=-2"}, []string{"--records is -1", "--rate is -2"}},
		{[]string{"--records=0"}, []string{"--records is 0, want more than 0"}},
		{[]string{"--rate=NaN"}, []string{"--rate is NaN, want 0 or more"}},
		{[]string{"--rate=-1"}, []string{"--rate is -1, want 0 or more"}},
	} {
		code, _, stderr := runProgram(t, nil, append([]string{"local"}, tc.args...)...)
		for _, want := range tc.want {
			if code != shell.ExitUsage || !strings.Contains(stderr, want) {
				t.Errorf("%q: exit code %d, %q, want %q", tc.args, code, stderr, want)
			}
		}
	}
}

// A flag that is given and empty, as "$N" of a variable that is not set, is no flag that is left out.
func TestAFlagThatIsGivenAndEmptyIsRefused(t *testing.T) {
	for _, args := range []string{
		"run --project=", "run --topic=", "run --batch-size=", "--host=", "list --limit=", "list --max-attempts=", "migrate down --to=", "republish --consumer=", "local --http=",
	} {
		code, _, stderr := runProgram(t, nil, strings.Fields(args)...)
		if code != shell.ExitUsage || !strings.Contains(stderr, "it is empty: leave the flag out, or give it a value") {
			t.Errorf("%s: exit code %d, %q", args, code, stderr)
		}
	}
}
