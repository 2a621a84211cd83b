package firestore

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts/inbox"
)

// passes reports whether the failure of a transaction says nothing of what is in it. Of a
// handler's own errors that is what its reads are answered where Firestore cannot be reached
// or others stand in the way. PermissionDenied does not pass: a handler may want what the inbox does not.
func passes(err error, handlers bool) bool {
	if errors.Is(err, inbox.ErrLost) {
		return false
	}
	switch status.Code(err) {
	case codes.Aborted, codes.Unavailable:
		return true
	case codes.DeadlineExceeded, codes.ResourceExhausted, codes.Unauthenticated, codes.Canceled:
		return !handlers
	default:
		return false
	}
}
