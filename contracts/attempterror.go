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

// Clip cuts a text to MaxErrorBytes, at a character's edge.
func Clip(s string) string {
	if len(s) <= MaxErrorBytes {
		return s
	}
	s = s[:MaxErrorBytes]
	for len(s) > 0 && s[len(s)-1]&0xC0 == 0x80 {
		s = s[:len(s)-1]
	}
	if len(s) > 0 && s[len(s)-1] >= 0xC0 {
		s = s[:len(s)-1]
	}
	return s
}

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
