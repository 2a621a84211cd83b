package auth_test

import (
	"os"
	"testing"

	"outboxrelay/deploy/local/auth"
	"outboxrelay/deploy/local/auth/conformance"
)

func TestConformance(t *testing.T) {
	_, addr := start(t, auth.Options{})
	conformance.Run(t, addr)
}

// TestConformanceOnGoogle holds the suite itself to Google's emulator: where the
// embedded server and the emulator differ, the embedded server is wrong.
func TestConformanceOnGoogle(t *testing.T) {
	addr := os.Getenv(googleAuth)
	if addr == "" {
		t.Skip(googleAuth + " names no emulator")
	}
	conformance.Run(t, addr)
}
