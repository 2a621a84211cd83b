package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// WithSignals ends the returned context at the first SIGINT or SIGTERM, with
// the signal as its cause. The second one calls exit at once, with the code
// that a shell gives to a process killed by it; the same one again within echo
// of the first does so only after grace. stop puts the signals back.
func WithSignals(parent context.Context, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go heed(signals, done, cancel, exit)
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// echo is how long after the first signal the same one may still be that one. Whoever signals
// a program and the group that it is in, as timeout(1) does, sends it twice: within a third of
// a millisecond mostly, within 12 ms on a busy machine. A person's second Ctrl-C takes longer.
// It may be a second one all the same, so it leaves the program only grace: for a stop that
// nothing holds up that is plenty.
const (
	echo  = 50 * time.Millisecond
	grace = time.Second
)

// heed is the loop of WithSignals, until done.
func heed(signals <-chan os.Signal, done <-chan struct{}, cancel context.CancelCauseFunc, exit func(int)) {
	var first os.Signal
	var since time.Time
	var late <-chan time.Time
	code := func(s os.Signal) int { return 128 + int(s.(syscall.Signal)) }
	for {
		select {
		case <-done:
			return
		case <-late:
			exit(code(first))
		case s := <-signals:
			switch {
			case first == nil:
				first, since = s, time.Now()
				cancel(fmt.Errorf("signal: %v", s))
			case s != first || time.Since(since) >= echo:
				exit(code(s))
			case late == nil:
				late = time.After(grace)
			}
		}
	}
}
