package firestore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
)

// Where the SDK tries until a call's time is over, no code comes with its error.
func TestFailureNamesTheCode(t *testing.T) {
	for want, err := range map[string]error{
		"Unavailable":      status.Error(codes.Unavailable, "away"),
		"DeadlineExceeded": fmt.Errorf("commit: %w", context.DeadlineExceeded),
		"Canceled":         context.Canceled,
		"Unknown":          errors.New("odd"),
	} {
		if got := contracts.CodeOf(Failure("commit", err)); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
}
