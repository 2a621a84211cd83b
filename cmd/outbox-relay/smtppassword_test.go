package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/shell"
)

// A password on the command line is taken, and the log says who else can read it; the password
// itself it does not say.
func TestAPasswordOnTheCommandLine(t *testing.T) {
	const warning = "--smtp-password shows the password"
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env   map[string]string
		args  []string
		warns bool
	}{
		"flag":                {nil, []string{"--smtp-password", "s3cret"}, true},
		"flag over variable":  {map[string]string{"SMTP_PASSWORD": "another"}, []string{"--smtp-password", "s3cret"}, true},
		"flag of variable":    {map[string]string{"SMTP_PASSWORD": "s3cret"}, []string{"--smtp-password", "s3cret"}, true},
		"variable":            {map[string]string{"SMTP_PASSWORD": "s3cret"}, nil, false},
		"file":                {nil, []string{"--smtp-password-file", file}, false},
		"variable for a file": {map[string]string{"SMTP_PASSWORD_FILE": file}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "OTEL_EXPORTER_OTLP_ENDPOINT": "no address"} // it ends there
			maps.Copy(env, c.env)
			got := runProgram(t, env, "", append([]string{"serve", "--smtp-host", "h", "--smtp-from", "a@b.example", "--smtp-user", "u"}, c.args...)...)
			if got.code != shell.ExitUsage || strings.Contains(got.stderr, warning) != c.warns || strings.Contains(got.stderr, "s3cret") {
				t.Errorf("exit code %d with %s; want a warning: %v", got.code, got.stderr, c.warns)
			}
		})
	}
}
