// Package firestoretest gives a test a Firestore of its own, and clients of it.
// Only tests import it.
package firestoretest

import (
	"context"
	"os"
	"testing"

	sdk "cloud.google.com/go/firestore"
	"github.com/google/uuid"
	"google.golang.org/api/option"

	"outboxrelay/deploy/local"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/google"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// Start starts an embedded Firestore until the test's end, and returns its HOST:PORT.
func Start(t testing.TB, o firestore.Options) (*firestore.Server, string) {
	t.Helper()
	server, err := firestore.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	address, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return server, address
}

// OnGoogle returns the HOST:PORT of Google's emulator, or skips the test where none
// runs.
func OnGoogle(t testing.TB) string {
	t.Helper()
	address := os.Getenv(google.FirestoreVar)
	if address == "" {
		t.Skip("Google's emulators are not running: see make test-emulators")
	}
	return address
}

// Client returns a client, until the test's end, of a project that nobody else has.
func Client(t testing.TB, address string, opts ...option.ClientOption) *dlqfirestore.Client {
	t.Helper()
	client, err := dlqfirestore.Open(context.Background(), "p-"+uuid.NewString()[:8], sdk.DefaultDatabaseID, append(local.FirestoreOptions(address), opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
