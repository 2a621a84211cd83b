package google

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
)

func TestStartAndStopOnGoogle(t *testing.T) {
	if os.Getenv(FirestoreVar) == "" || os.Getenv(PubSubVar) == "" {
		t.Skipf("%s or %s is unset: Google's emulators are not asked for", FirestoreVar, PubSubVar)
	}
	starts := map[string]func(context.Context, io.Writer) (*Emulator, error){
		"Firestore": StartFirestore,
		"PubSub":    StartPubSub,
	}
	if os.Getenv(AuthVar) != "" {
		starts["Auth"] = StartAuth
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			e, err := start(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Err(); err != nil {
				t.Errorf("Err of a running emulator = %v, want nil", err)
			}
			if err := e.Stop(); err != nil {
				t.Fatal(err)
			}
			if conn, err := net.Dial("tcp", e.Addr()); err == nil {
				conn.Close()
				t.Error("the stopped emulator still listens")
			}
		})
	}
}
