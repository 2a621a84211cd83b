package firestore

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/dlq"
)

// callError is a failed call. It answers contracts.CodeOf and dlq.CommitError.
type callError struct {
	verb string
	code codes.Code
	err  error
}

var _ dlq.CommitError = (*callError)(nil)

// Failure wraps the error of a call to Firestore as one that names what was
// tried and answers contracts.CodeOf and dlq.CommitError.
func Failure(verb string, err error) error {
	return &callError{verb: verb, code: codeOf(err), err: err}
}

// codeOf is the code of a call's error. The SDK tries some calls again until their time
// is over, and says so without a code then.
func codeOf(err error) codes.Code {
	if _, ok := status.FromError(err); ok {
		return status.Code(err)
	}
	return status.FromContextError(err).Code()
}

func (e *callError) Error() string { return fmt.Sprintf("%s: %v", e.verb, e.err) }

func (e *callError) Unwrap() error { return e.err }

// FailureCode is the gRPC code's name.
func (e *callError) FailureCode() string { return e.code.String() }

// Code implements dlq.CommitError.
func (e *callError) Code() string { return e.code.String() }

// Refused implements dlq.CommitError: these codes judge what was sent, so
// sending it again cannot help. All others speak of the moment, of access or
// of the way there.
func (e *callError) Refused() bool {
	switch e.code {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange:
		return true
	default:
		return false
	}
}
