package simulation

import "outboxrelay/dlq"

// callError is a failed call to the simulated Firestore.
type callError struct{ code string }

var _ dlq.CommitError = (*callError)(nil)

func failed(code string) error { return &callError{code} }

func (e *callError) Error() string       { return "simulated: " + e.code }
func (e *callError) Code() string        { return e.code }
func (e *callError) FailureCode() string { return e.code }

// Refused implements dlq.CommitError.
func (e *callError) Refused() bool {
	switch e.code {
	case "InvalidArgument", "NotFound", "AlreadyExists", "FailedPrecondition", "OutOfRange":
		return true
	}
	return false
}
