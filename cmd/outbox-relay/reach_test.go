package main

import (
	"net"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/dlq/admin/auth"
)

// closedAddr is one where nobody listens any more.
func closedAddr(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close() // nobody was served
	return lis.Addr().String()
}

// Whoever starts a service without its emulators is told at once which does not answer, and
// who may use the admin API.
func TestServeTellsWhatItCannotReach(t *testing.T) {
	t.Parallel()
	addr := closedAddr(t)
	service := startProgram(t, map[string]string{"GOOGLE_CLOUD_PROJECT": "p", gcp.EnvFirestore: addr, gcp.EnvPubSub: addr, "AUTH_MODE": "dev"},
		"serve", "--host", "127.0.0.1", "--port", "0")
	service.stderr.find(t, `("message":"starting","project":"p","cloud":"FIRESTORE_EMULATOR_HOST=`+addr+`[^"]*","admin":"AUTH_MODE dev)`)
	service.stderr.find(t, `("severity":"WARNING"[^}]*nobody answers[^}]*"variable":"FIRESTORE_EMULATOR_HOST","emulator":"`+addr+`")`)
	if code := service.stop(t); code != shell.ExitOK {
		t.Errorf("exit code %d, stderr:\n%s", code, service.stderr)
	}
}

// A command without a log waits for its Firestore as well, and says for what.
func TestCommandsTellThatTheyWaitForFirestore(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"append":  {"append", "--outbox", "wsOutbox", "--samples", "1"},
		"restore": {"restore", "--before", "2026-03-01T11:00:00Z", "--as", "delivered", "--dry-run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := closedAddr(t)
			command := startProgram(t, map[string]string{"GOOGLE_CLOUD_PROJECT": "p", gcp.EnvFirestore: addr}, args...)
			command.stderr.find(t, `(nobody answers at the emulator's address, FIRESTORE_EMULATOR_HOST=`+addr+`; waiting)`)
			if code := command.stop(t); code == shell.ExitOK {
				t.Error("it did nothing, and its exit code says that all went well")
			}
		})
	}
}

func TestWhoMayAskIsTold(t *testing.T) {
	for mode, want := range map[auth.Mode]string{auth.ModeOff: "AUTH_MODE is not set", auth.ModeDev: "AUTH_MODE dev", auth.ModeOIDC: "AUTH_MODE oidc", auth.ModeIAP: "AUTH_MODE iap"} {
		if got := whoMayAsk(mode); !strings.Contains(got, want) {
			t.Errorf("mode %q: %q", mode, got)
		}
	}
	if got := where(gcp.Place{Project: "p"}).String; got != "Google's own Firestore" {
		t.Errorf("without emulators the cloud is %q", got)
	}
}
