package contracts

import (
	"strings"
	"time"
)

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

// Clip makes a text fit for a record or a dead letter: ClipTo, to MaxErrorBytes.
func Clip(text string) string { return ClipTo(text, MaxErrorBytes) }

// ClipTo cuts a text to so many bytes, between characters. What is no UTF-8 in it becomes
// U+FFFD.
func ClipTo(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") // without what the cut leaves of a character
	}
	return text
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
