package admin

import (
	"context"
	"net/http"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
)

// call is what is known of one request while it is answered.
type call struct {
	method    string
	who       auth.Identity // zero before it is known
	route     *route        // nil: none
	traceID   string        // of what it is about, once that is known
	forbidden string        // why the queue judges that who asks may not; "": it does not
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callOf returns the call that a handler answers.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// actor is who asks.
func actor(ctx context.Context) dlq.Actor { return callOf(ctx).who.Actor() }

// about notes what a call is about, for the log.
func about(ctx context.Context, traceID string) { callOf(ctx).traceID = traceID }

// changes reports whether the call may change something.
func (c *call) changes() bool { return c.method != http.MethodGet && c.method != http.MethodHead }

// path is the route's, which has no values of the caller's in it.
func (c *call) path() string {
	if c.route == nil {
		return unmatched
	}
	return c.route.path
}

func (c *call) fields() []zap.Field {
	return []zap.Field{
		zap.String("identity", c.who.Name), zap.Stringer("role", c.who.Role), zap.String("method", methodLabel(c.method)),
		zap.String("route", c.path()), zap.String("traceId", c.traceID),
	}
}
