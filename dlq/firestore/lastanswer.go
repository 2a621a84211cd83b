package firestore

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// LastAnswer is what Firestore refused a call with last. The SDK tries some calls again
// until their time is over, and then says no more than that. Safe for concurrent use.
type LastAnswer struct {
	mu  sync.Mutex
	err error
}

type lastAnswerKey struct{}

// KeepLastAnswer returns a context for one call, or a few that follow each other, and
// what they were refused with last. It is heard for the clients that Open opened.
func KeepLastAnswer(ctx context.Context) (context.Context, *LastAnswer) {
	last := new(LastAnswer)
	return context.WithValue(ctx, lastAnswerKey{}, last), last
}

// Explain returns err, the call's own. Where that says no more than that its time was
// over, it says as well what was answered until then, and has that code.
func (a *LastAnswer) Explain(err error) error {
	if codeOf(err) != codes.DeadlineExceeded {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		return err
	}
	return &explained{err, a.err}
}

func (a *LastAnswer) note(err error) {
	switch status.Code(err) {
	case codes.OK, codes.DeadlineExceeded, codes.Canceled: // none of them is a reason
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// answers keeps the last answer to those calls whose context asks for it.
var answers = option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(func(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := call(ctx, method, req, reply, conn, opts...)
	if last, ok := ctx.Value(lastAnswerKey{}).(*LastAnswer); ok {
		last.note(err)
	}
	return err
}))

// explained is that a call's time was over, and what it was answered until then.
type explained struct{ err, last error }

func (e *explained) Error() string { return fmt.Sprintf("%v; the last answer: %v", e.err, e.last) }

func (e *explained) Unwrap() error { return e.err }

// GRPCStatus is that of the last answer.
func (e *explained) GRPCStatus() *status.Status { return status.Convert(e.last) }
