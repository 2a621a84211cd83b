package main

import (
	"strings"
	"testing"

	"outboxrelay/deploy/local/postgres"
	"outboxrelay/deploy/local/redis"
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

func TestLocalUsage(t *testing.T) {
	code, _, stderr := runProgram(t, nil, "local", "--records=-1", "--rate=-2")
	if code != 2 || !strings.Contains(stderr, "--records is -1") || !strings.Contains(stderr, "--rate is -2") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
