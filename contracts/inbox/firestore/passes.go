package firestore

import (
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts/inbox"
)

// passes reports whether the failure of a transaction says nothing of what is in it. Of a
// handler's own errors that is what its reads are answered where Firestore cannot be reached
// or others stand in the way. PermissionDenied does not pass: a handler may want what the inbox does not.
// took is how long the handler ran: one that outlasts its transaction does so each time.
func passes(err error, handlers bool, took time.Duration) bool {
	if errors.Is(err, inbox.ErrLost) {
		return false
	}
	switch status.Code(err) {
	case codes.Aborted, codes.Unavailable:
		return true
	case codes.DeadlineExceeded, codes.ResourceExhausted, codes.Unauthenticated, codes.Canceled:
		return !handlers
	case codes.InvalidArgument:
		return took < idle && strings.Contains(err.Error(), expired)
	default:
		return false
	}
}

// idle is how long Firestore keeps a transaction of which it hears nothing. It may forget one at
// any time, as where others contend, and says so in words alone: by these its clients of
// other languages know that it is to be begun anew.
const (
	idle    = time.Minute
	expired = "transaction has expired"
)
