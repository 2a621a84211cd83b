package workqueue

import (
	"context"
	"errors"
	"time"

	"cloud.google.com/go/firestore"
)

// Handler acts on one document. It is called by several goroutines at once.
type Handler interface {
	// Handle acts on the claimed document and says what closes it. ctx ends when the
	// lease may be trusted no longer, and at a stop's end. An error is a failed
	// attempt; see Permanent and Coded. A handler that cannot know whether it acted
	// closes the document by an Outcome that says so.
	Handle(ctx context.Context, c *Claim) (Outcome, error)
}

// Abandoner is what a Handler is that knows better than Vocabulary.Dead what becomes of a
// document whose attempts are used up, and whose last worker did not come back.
type Abandoner interface {
	// Abandoned says what closes the document. False: Vocabulary.Dead does.
	Abandoned(c *Claim) (Outcome, bool)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, c *Claim) (Outcome, error)

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, c *Claim) (Outcome, error) { return f(ctx, c) }

// Outcome closes a document. All of it is written by one commit, or nothing.
type Outcome struct {
	Word   string // what became of it: of Vocabulary.Outcomes, for metrics and logs
	Status string // the document's from now on; neither Pending nor Processing
	// Updates are further fields of the document. They may hold server timestamps,
	// and win over what the engine writes of the same field.
	Updates []firestore.Update
	// Creates are other documents. One that is there already is left as it is: its ID
	// follows from what it says, so that a second try adds nothing.
	Creates []Create
	// Within adds to the same commit what is neither, such as increments; nil: nothing more. It
	// may be called several times.
	Within func(batch *Batch)
	// ClosedAt, unless zero, says that the handler closed the document itself, on the
	// condition that the claim stood, at about that time of the server's: nothing is left to
	// write.
	ClosedAt time.Time
}

// Batch is a commit in the making: all of it is written, on its conditions, or nothing.
type Batch = firestore.WriteBatch //nolint:staticcheck // one atomic commit without reads is what it is for

// Create is a document to be created.
type Create struct {
	Ref  *firestore.DocumentRef
	Data any // as firestore's own Create takes it
}

// Permanent returns an error that says that no further attempt would help: the
// document is dead at once. code is one bounded word.
func Permanent(code string, err error) error { return &codedError{err, code, true} }

// Coded returns an error of an attempt that may succeed later, with one bounded
// word for its kind.
func Coded(code string, err error) error { return &codedError{err, code, false} }

type codedError struct {
	error
	code      string
	permanent bool
}

func (e *codedError) Unwrap() error { return e.error }

// Codes of failures that have none of their own.
const (
	CodeFailed    = "FAILED"      // the handler's error says no more
	CodePanic     = "PANIC"       // the handler panicked
	CodeTimeout   = "TIMEOUT"     // the handler did not end within its lease
	CodeAbandoned = "WORKER_DIED" // the worker of the last attempt did not come back
	// The document came with its attempts used up, and no worker had it: somebody has written its
	// status, or lowered how many attempts there are.
	CodeExhausted = "ATTEMPTS_USED_UP"
	// Firestore does not take what is to be written of the document.
	CodeUnwritable = "UNWRITABLE"
	// The SDK cannot read the document.
	CodeUnreadable = "UNREADABLE"
)

// failureOf describes an error of the handler.
func failureOf(err error, attempts int) Failure {
	f := Failure{Err: err, Code: CodeFailed, Attempts: attempts}
	if coded, ok := errors.AsType[*codedError](err); ok {
		f.Code, f.Permanent = coded.code, coded.permanent
	} else if _, ok := errors.AsType[*panicError](err); ok {
		f.Code = CodePanic
	} else if errors.Is(err, context.DeadlineExceeded) {
		f.Code = CodeTimeout
	}
	return f
}
