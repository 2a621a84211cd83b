// Package lastanswer tells what Firestore refused a call with last. The SDK tries some calls again, a commit
// that is refused for the quota among them, until their time is over, and then says no more than that.
package lastanswer

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Answer is what Firestore refused a call with last. Safe for concurrent use.
type Answer struct {
	mu  sync.Mutex
	err error
}

type key struct{}

// Keep returns a context for one call, or a few that follow each other, and what they were refused
// with last. Of a client that was opened without Heard there is nothing to tell.
func Keep(ctx context.Context) (context.Context, *Answer) {
	last := new(Answer)
	return context.WithValue(ctx, key{}, last), last
}

// Explain returns err, the call's own. Where that says no more than that its time was
// over, it says as well what was answered until then, and has that code.
func (a *Answer) Explain(err error) error {
	if !late(err) {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		return err
	}
	return &explained{err, a.err}
}

// late reports whether a call's error is that its time was over, which the SDK says without a code, too.
func late(err error) bool {
	s, ok := status.FromError(err)
	if !ok {
		s = status.FromContextError(err)
	}
	return s.Code() == codes.DeadlineExceeded
}

func (a *Answer) note(err error) {
	switch status.Code(err) {
	case codes.OK, codes.DeadlineExceeded, codes.Canceled: // none of them is a reason
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// Heard is for a client whose last answers are to be told: those to the calls whose context asks for it.
func Heard() option.ClientOption {
	return option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		err := call(ctx, method, req, reply, conn, opts...)
		if last, ok := ctx.Value(key{}).(*Answer); ok {
			last.note(err)
		}
		return err
	}))
}

// explained is that a call's time was over, and what it was answered until then.
type explained struct{ err, last error }

func (e *explained) Error() string { return fmt.Sprintf("%v; the last answer: %v", e.err, e.last) }

func (e *explained) Unwrap() error { return e.err }

// GRPCStatus is that of the last answer.
func (e *explained) GRPCStatus() *status.Status { return status.Convert(e.last) }
