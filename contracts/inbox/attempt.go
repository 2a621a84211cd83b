package inbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"outboxrelay/contracts"
)

// effect is what handles an event.
type effect struct {
	// run calls the handler with a ctx that l made.
	run func(ctx context.Context, l *limit, e *Event) error
	// settles says that run marks the event processed together with what it does.
	settles bool
}

func (i *Inbox) effect(h Handler) effect {
	return effect{run: func(ctx context.Context, l *limit, e *Event) error {
		return l.call(ctx, func(ctx context.Context) error { return h(ctx, e) })
	}}
}

// Codes of failures that are not the handler's own words.
const (
	CodeFailed   = "HandlerFailed"    // it returned an error that does not know its code
	CodePanic    = "HandlerPanic"     // or the error that it returned does
	CodeTimeout  = "HandlerTimeout"   // its ctx ended, and it returned that error
	CodeHanging  = "HandlerHangs"     // it did not even return
	CodeContract = "ContractBroken"   // the message is not what the contract says
	CodeTakeover = "ProcessEnded"     // the leases of its claims ran out, again and again
	CodeStore    = "StoreUnavailable" // the store had no transaction for it, or did not commit what it wrote
)

// attempt calls the handler once. It returns when that does, or some time after the
// handler's ctx has ended: one that hangs is left behind, on its goroutine.
func (d *delivery) attempt() error {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(d.ctx))
	defer stop(nil) // which also ends the transaction of one that is left behind
	done := make(chan error, 1)
	var left atomic.Bool
	event, l := d.event, newLimit(d.opts.Timeout)
	go func() {
		returned := errors.New("the handler ended its goroutine")
		defer func() {
			if p := recover(); p != nil { // the store's
				returned = panicked(p)
			}
			done <- returned
			if !left.CompareAndSwap(false, true) {
				d.hanging.Add(-1)
			}
		}()
		returned = d.effect.run(ctx, l, event)
	}()
	stopping, begun := d.ctx.Done(), l.begun
	patience := time.NewTimer(d.opts.Grace) // of the lease there is as much for the store to make ready
	defer patience.Stop()
	for {
		select {
		case err := <-done:
			return d.judge(ctx, l, err)
		case <-stopping: // what is under way may come to its end
			stopping = nil
			cut := time.AfterFunc(d.opts.Grace/2, func() { stop(errStopped) })
			defer cut.Stop()
			continue
		case <-begun:
			begun = nil
			patience.Reset(time.Until(l.deadline))
			continue
		case <-patience.C:
			if begun != nil {
				if !l.refuse() {
					continue // it is called just now
				}
				stop(nil)
			}
		case <-ctx.Done():
		}
		grace := time.NewTimer(d.opts.Grace)
		defer grace.Stop()
		select {
		case err := <-done:
			return d.judge(ctx, l, err)
		case <-grace.C:
			d.hanging.Add(1)
			if !left.CompareAndSwap(false, true) { // it returned just now
				d.hanging.Add(-1)
				return d.judge(ctx, l, <-done)
			}
			if l.through.Load() { // what it wrote is what does not come to its end, and is ended with ctx
				return d.judge(ctx, l, Passing(fmt.Errorf("the store did not commit within %v after the handler's time", d.opts.Grace)))
			}
			d.log.Error("a handler does not return though its ctx has ended: it is left behind")
			if l.shared() {
				return d.judge(ctx, l, Passing(errShared))
			}
			return d.judge(ctx, l, &contracts.Failure{Code: CodeHanging, Err: fmt.Errorf("no answer %v after its ctx had ended", d.opts.Grace)})
		}
	}
}

// errStopped is what becomes of a handler that was cut off as the receiving ended. It says nothing of the event.
var errStopped = errors.New("the receiving has ended")

// judge tells a handler that was cut off, or ran out of time, from one that failed by itself, and from one that
// was not even called.
func (d *delivery) judge(ctx context.Context, l *limit, err error) error {
	switch {
	case err == nil || errors.Is(err, ErrLost):
		return err
	case errors.Is(context.Cause(ctx), errStopped) && contracts.KindOf(err) != contracts.Permanent && contracts.CodeOf(err) != CodeHanging:
		return fmt.Errorf("%w: %w", errStopped, err) // in the words of whatever it called then
	case !l.called():
		return &contracts.Failure{Kind: contracts.Outage, Code: CodeStore, Err: fmt.Errorf("the store has no transaction for the handler: %w", err)}
	case l.through.Load() || !errors.Is(err, context.DeadlineExceeded) || !l.over():
		return err
	case l.shared():
		return Passing(fmt.Errorf("%w: %w", errShared, err))
	default:
		return &contracts.Failure{Code: CodeTimeout, Err: fmt.Errorf("no answer within %v: %w", d.opts.Timeout, err)}
	}
}

// maxCodeBytes bounds the code of a failure, which is a word.
const maxCodeBytes = 100

func codeOf(err error) string {
	if code := bound(contracts.CodeOf(err), maxCodeBytes); code != "" && code != "Unknown" {
		return code
	}
	return CodeFailed
}

// bound makes a text fit for a store, which may not take U+0000, and a dead letter.
func bound(text string, most int) string {
	return contracts.ClipTo(strings.ReplaceAll(text, "\x00", ""), most)
}
