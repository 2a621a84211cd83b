package firestore_test

import (
	"os"
	"testing"

	gcp "cloud.google.com/go/firestore"

	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/conformance"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	s, addr := start(t, firestore.Options{})
	conformance.Run(t, func(t *testing.T) *gcp.Client { return dial(t, addr) }, s.DeclareIndexes)
}

// TestConformanceOnGoogle holds the suite itself to Google's emulator: where the
// embedded server and the emulator differ, the embedded server is wrong.
func TestConformanceOnGoogle(t *testing.T) {
	addr := os.Getenv("OUTBOX_RELAY_GOOGLE_FIRESTORE")
	if addr == "" {
		t.Skip("OUTBOX_RELAY_GOOGLE_FIRESTORE names no emulator")
	}
	conformance.Run(t, func(t *testing.T) *gcp.Client { return dial(t, addr) }, nil)
}
