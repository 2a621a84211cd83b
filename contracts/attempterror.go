package contracts

import "time"

// AttemptError is one failed attempt at one target, as kept on the record and
// in its dead letter.
type AttemptError struct {
	At      time.Time
	Attempt int // 1 is the first
	Target  string
	Code    string
	Message string // at most MaxErrorBytes
}

// MaxErrorBytes bounds lastError and every stored error message, in bytes.
const MaxErrorBytes = 1024

// Names of an AttemptError's fields in Firestore, on a record and in the
// errors of a dead letter.
const (
	AttemptFieldTime    = "time"
	AttemptFieldAttempt = "attempt"
	AttemptFieldTarget  = "target"
	AttemptFieldCode    = "code"
	AttemptFieldMessage = "message"
)

func decodeAttemptError(m map[string]any) (AttemptError, Faults) {
	d := decoder{fields: m}
	e := AttemptError{
		At:      d.timestamp(AttemptFieldTime, relayWritten),
		Attempt: int(d.integer(AttemptFieldAttempt, relayWritten, 0, 0)),
		Target:  d.text(AttemptFieldTarget, relayWritten),
		Code:    d.text(AttemptFieldCode, relayWritten),
		Message: d.text(AttemptFieldMessage, relayWritten),
	}
	return e, d.faults
}
