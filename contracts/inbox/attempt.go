package inbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"outboxrelay/contracts"
)

// effect is what handles an event.
type effect struct {
	run func(ctx context.Context, e *Event) error
	// settles says that run marks the event processed together with what it does.
	settles bool
}

func (i *Inbox) effect(h Handler) effect { return effect{run: h} }

// Codes of failures that are not the handler's own words.
const (
	CodeFailed   = "HandlerFailed" // it returned an error that does not know its code
	CodePanic    = "HandlerPanic"
	CodeTimeout  = "HandlerTimeout" // its ctx ended, and it returned that error
	CodeHanging  = "HandlerHangs"   // it did not even return
	CodeContract = "ContractBroken" // the message is not what the contract says
	CodeTakeover = "ProcessEnded"   // the leases of its claims ran out, again and again
)

// attempt calls the handler once. It returns when that does, or some time after the
// handler's ctx has ended: one that hangs is left behind, on its goroutine.
func (d *delivery) attempt() error {
	stoppable, stop := context.WithCancelCause(context.WithoutCancel(d.ctx))
	defer stop(nil)
	ctx, cancel := context.WithTimeout(stoppable, d.opts.Timeout)
	defer cancel()
	done := make(chan error, 1)
	var left atomic.Bool
	event := d.event
	go func() {
		returned := errors.New("the handler ended its goroutine")
		defer func() {
			if p := recover(); p != nil {
				returned = &contracts.Failure{Code: CodePanic, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
			}
			done <- returned
			if !left.CompareAndSwap(false, true) {
				d.hanging.Add(-1)
			}
		}()
		returned = d.effect.run(ctx, event)
	}()
	stopping := d.ctx.Done()
	for {
		select {
		case err := <-done:
			return d.judge(ctx, err)
		case <-stopping: // what is under way may come to its end
			stopping = nil
			cut := time.AfterFunc(d.opts.Grace/2, func() { stop(errStopped) })
			defer cut.Stop()
		case <-ctx.Done():
			grace := time.NewTimer(d.opts.Grace)
			defer grace.Stop()
			select {
			case err := <-done:
				return d.judge(ctx, err)
			case <-grace.C:
				d.hanging.Add(1)
				if !left.CompareAndSwap(false, true) { // it returned just now
					d.hanging.Add(-1)
					return d.judge(ctx, <-done)
				}
				d.log.Error("a handler does not return though its ctx has ended: it is left behind")
				return &contracts.Failure{Code: CodeHanging, Err: fmt.Errorf("no answer %v after its ctx had ended", d.opts.Grace)}
			}
		}
	}
}

// errStopped is what becomes of a handler that was cut off as the receiving ended. It says nothing of the event.
var errStopped = errors.New("the receiving has ended")

// judge tells a handler that was cut off, or ran out of time, from one that failed by itself.
func (d *delivery) judge(ctx context.Context, err error) error {
	// What it says then is that of a call that was cut off, in the words of whatever it called.
	if err != nil && errors.Is(context.Cause(ctx), errStopped) && contracts.KindOf(err) != contracts.Permanent {
		return fmt.Errorf("%w: %w", errStopped, err)
	}
	if err != nil && errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &contracts.Failure{Code: CodeTimeout, Err: fmt.Errorf("no answer within %v: %w", d.opts.Timeout, err)}
	}
	return err
}

func codeOf(err error) string {
	if code := contracts.CodeOf(err); code != "" && code != "Unknown" {
		return code
	}
	return CodeFailed
}

// bound makes a text fit for a store and a dead letter.
func bound(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	if len(text) > contracts.MaxErrorBytes {
		text = strings.ToValidUTF8(text[:contracts.MaxErrorBytes], "")
	}
	return text
}
