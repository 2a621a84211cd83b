package workqueue

import (
	"context"
	"errors"
	"strings"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// close writes the end of a claim, and returns what it wrote in the end. What Firestore does not
// take is made less until it does, so that no document is claimed for ever: first the
// document's status and attempts alone, then a failed attempt where other documents are what
// the handler did, and at last without any other document.
func (c *Claim) close(ctx context.Context, s settlement) (settlement, state, error) {
	after, err := c.settle(ctx, s)
	for err != nil && unwritable(err) {
		c.Log.Error("what closes the document cannot be written", zap.Error(err))
		switch {
		case !s.bare:
			s.bare = true
		case s.failure == nil && s.others():
			s = c.failed(failureOf(Coded(CodeUnwritable, err), c.Attempt))
		case s.others():
			s.outcome.Creates, s.outcome.Within = nil, nil
		default:
			return s, after, err
		}
		after, err = c.settle(ctx, s)
	}
	return s, after, err
}

// others reports whether s writes more than the document.
func (s *settlement) others() bool { return len(s.outcome.Creates) > 0 || s.outcome.Within != nil }

// unwritable reports whether err says that the same write would fail again, as
// Firestore, or the SDK before it, does not take what it holds.
func unwritable(err error) bool {
	if s, ok := status.FromError(err); ok {
		return s.Code() == codes.InvalidArgument || s.Code() == codes.Internal && strings.Contains(s.Message(), "error while marshaling")
	}
	return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}
