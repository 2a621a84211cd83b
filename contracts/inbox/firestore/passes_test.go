package firestore

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A handler that takes longer than a transaction lasts would hold back its aggregate for ever, were it no
// try of its event.
func TestHandlerThatOutlastsItsTransactionIsATry(t *testing.T) {
	err := status.Error(codes.InvalidArgument, "The referenced transaction has expired or is no longer valid.")
	for took, want := range map[time.Duration]bool{0: true, idle - 1: true, idle: false} {
		if got := passes(err, false, took); got != want {
			t.Errorf("after %v it passes: %t, want %t", took, got, want)
		}
	}
}
