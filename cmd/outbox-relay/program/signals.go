package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// WithSignals ends the returned context at the first SIGINT or SIGTERM, with
// the signal as its cause. The second one calls exit at once, with the code
// that a shell gives to a process killed by it. stop puts the signals back.
func WithSignals(parent context.Context, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		stopping := false
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if stopping {
					exit(128 + int(s.(syscall.Signal)))
				}
				stopping = true
				cancel(fmt.Errorf("signal: %v", s))
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
