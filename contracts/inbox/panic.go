package inbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"outboxrelay/contracts"
)

// sound calls a handler, and makes failures of a panic and of an error that panics when it is asked. A panic
// is caught here, where the stack has its place: a store's transaction may repeat it elsewhere.
func sound(ctx context.Context, h func(ctx context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return told(h(ctx))
}

// panicked is the failure of a panic: its type or the runtime's words, and its place. Its text may hold a payload.
func panicked(p any) error {
	return &contracts.Failure{Code: CodePanic, Err: fmt.Errorf("panic: %s\n%s", contracts.PanicText(p), debug.Stack())}
}

// told returns a handler's error where that can say what it is. One that panics instead, as a nil of type
// *contracts.Failure does, would end the process when it is judged, and leave a transaction open before that.
func told(err error) (able error) {
	defer func() {
		if p := recover(); p != nil {
			able = &contracts.Failure{Code: CodePanic, Err: fmt.Errorf("the handler returned a %T that does not say what it is: panic: %s", err, contracts.PanicText(p))}
		}
	}()
	if err != nil && !errors.Is(err, ErrLost) {
		_, _ = contracts.KindOf(err), contracts.MessageOf(err)
	}
	return err
}
