package main

import (
	"os"
	"strings"
	"testing"

	"outboxrelay/deploy/local/child"
)

// What the client of Redis says by itself is in the log, by its level and in its form, and nowhere else.
func TestRedisOutOfReachIsToldInTheLog(t *testing.T) {
	t.Parallel()
	s := setStage(t, testTopic)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process, err := child.Start(child.Spec{
		Name: name, Path: path, Args: []string{"local", "--http", "127.0.0.1:0", "--log-format", "json", "--log-level", "warn"},
		Env: []string{asProgram + "=1", "DATABASE_URL=" + s.url, "REDIS_URL=redis://127.0.0.1:1"}, Stderr: s.stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Kill)
	const said = "failed to dial"
	s.await("the client says that it cannot reach Redis", func() bool { return strings.Contains(s.stderr.String(), said) })
	process.Kill()
	for line := range strings.Lines(s.stderr.String()) {
		if strings.Contains(line, said) && !strings.HasPrefix(line, `{"severity":"WARNING"`) {
			t.Fatalf("said is %q", line)
		}
	}
}
