package firestore

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
)

// callError is a failed call. It answers contracts.KindOf and contracts.CodeOf,
// and whether a precondition refused it.
type callError struct {
	code codes.Code
	err  error
}

func failure(verb string, err error) error {
	return &callError{code: codeOf(err), err: fmt.Errorf("%s: %w", verb, err)}
}

// codeOf is the gRPC code of err. The client returns a bare context error when
// a deadline ends its own waiting.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	return status.FromContextError(err).Code()
}

func (e *callError) Error() string { return e.err.Error() }

func (e *callError) Unwrap() error { return e.err }

// FailureCode is the gRPC code's name.
func (e *callError) FailureCode() string { return e.code.String() }

// FailureKind is an outage for what every other document would meet as well.
func (e *callError) FailureKind() contracts.Kind {
	switch e.code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.PermissionDenied, codes.Unauthenticated,
		codes.Canceled, // our own stop
		codes.NotFound: // the database; a missing document is no error of Get
		return contracts.Outage
	default:
		return contracts.Attributable
	}
}

// Refused reports that the document is not any more what it was. Aborted says
// that another write was faster, NotFound that the document was deleted.
func (e *callError) Refused() bool {
	switch e.code {
	case codes.AlreadyExists, codes.FailedPrecondition, codes.Aborted, codes.NotFound:
		return true
	default:
		return false
	}
}
