package ier

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Handler does in this process what other targets do behind a topic.
type Handler interface {
	// Handle takes one record with its envelope as JSON; nil acknowledges it.
	// The same record may come again, also after it was acknowledged. It returns
	// soon after ctx ends, as nothing else can end it, and keeps neither rec nor
	// envelope. Its errors answer contracts.KindOf, CodeOf and ReasonOf; one that
	// does not is Attributable, or an outage when the time was up.
	Handle(ctx context.Context, rec *contracts.Record, envelope []byte) error
}

// HandlerConfig is what a HandlerTarget is made of. Only Handler must be set.
type HandlerConfig struct {
	Name    string // of the target, for log lines
	Handler Handler
	// Timeout bounds each call of the handler, and is the time after which a
	// run begins no further record. Default 6 s: a little over what the handler
	// of claims allows itself, so that its own error is the one that is told.
	Timeout time.Duration
	// Reason is that of failures which the target finds by itself: a panic, or
	// a handler that was cut off. See contracts.Failure.
	Reason contracts.Reason
	Log    *zap.Logger // nil: silent
}

// Validate names everything that is wrong with c.
func (c HandlerConfig) Validate() error {
	var errs []error
	if c.Handler == nil {
		errs = append(errs, errors.New("no handler"))
	}
	if c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout is %v, want more than 0", c.Timeout))
	}
	return errors.Join(errs...)
}

// HandlerTarget is a handler as a Target.
type HandlerTarget struct{ cfg HandlerConfig }

// NewHandlerTarget returns the target of cfg.Handler. It needs no closing.
func NewHandlerTarget(cfg HandlerConfig) (*HandlerTarget, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("create handler target %s: %w", cfg.Name, err)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 6 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	return &HandlerTarget{cfg}, nil
}

// Deliver hands one parcel after the other to the handler, oldest first, until
// one fails. What a call has no time left for stays behind as well, so that
// what is done is acknowledged before a slow rest.
func (t *HandlerTarget) Deliver(ctx context.Context, parcels []Parcel) []error {
	errs := make([]error, len(parcels))
	began := time.Now()
	for i, p := range parcels {
		if i > 0 && (ctx.Err() != nil || time.Since(began) >= t.cfg.Timeout) {
			behindFrom(errs, i)
			break
		}
		if errs[i] = t.handle(ctx, p); errs[i] != nil {
			behindFrom(errs, i+1)
			break
		}
	}
	return errs
}

func behindFrom(errs []error, first int) {
	for i := first; i < len(errs); i++ {
		errs[i] = ErrBehind
	}
}

// codeTimeout is the code of a handler that was cut off and knows no better.
const codeTimeout = "Timeout"

// handle is Handle within its time, and safe against a panic: that is the
// record's failure, and those that went before it stay acknowledged.
func (t *HandlerTarget) handle(ctx context.Context, p Parcel) (err error) {
	if p.Span != nil {
		ctx = trace.ContextWithSpan(ctx, p.Span)
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	defer func() {
		if thrown := recover(); thrown != nil {
			t.cfg.Log.Error("handler panicked", zap.String("target", t.cfg.Name), zap.String("traceId", p.Record.TraceID),
				zap.String("panic", contracts.PanicText(thrown)), zap.ByteString("stack", debug.Stack()))
			err = &contracts.Failure{
				Kind: contracts.Attributable, Code: codePanic, Reason: t.cfg.Reason,
				Err: fmt.Errorf("call handler %s: panic: %s", t.cfg.Name, contracts.PanicText(thrown)),
			}
		}
	}()
	err = t.cfg.Handler.Handle(ctx, p.Record, p.Message.Data)
	if err != nil && ctx.Err() != nil && !knowsKind(err) {
		err = &contracts.Failure{
			Kind: contracts.Outage, Code: codeTimeout, Reason: t.cfg.Reason,
			Err: fmt.Errorf("call handler %s: %w", t.cfg.Name, err),
		}
	}
	return err
}

// knowsKind reports whether err answers contracts.KindOf by itself.
func knowsKind(err error) bool {
	var k interface{ FailureKind() contracts.Kind }
	return errors.As(err, &k)
}
