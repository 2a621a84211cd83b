package relay

import (
	"context"
	"strconv"
	"time"

	"go.uber.org/zap"
)

// watchdog touches a canary, when a stream was opened and whenever a proof is
// asked of its listener, and judges that dead when the touch does not come back.
type watchdog struct {
	canary canary
	store  Store
	tuning Tuning
	now    func() time.Time
	state  *listenerState
	log    *zap.Logger
	echoes chan string
	count  int
}

func newWatchdog(l *listener) *watchdog {
	return &watchdog{
		canary: canaryFor(l.scan), store: l.store, tuning: l.tuning, now: l.now, state: l.state, log: l.log,
		echoes: make(chan string, 16),
	}
}

// seen tells that a touch arrived. It never blocks: an echo for which there is no room
// is missed, and its listener rebuilt.
func (w *watchdog) seen(nonce string) {
	select {
	case w.echoes <- nonce:
	default:
	}
}

// run ends with errSilent when a touch stays unseen, or with ctx. A touch that
// cannot be written says nothing about the listener: it is tried again.
func (w *watchdog) run(ctx context.Context) error {
	for {
		w.count++
		nonce := strconv.FormatInt(w.now().UnixNano(), 36) + "-" + strconv.Itoa(w.count)
		touched := w.now()
		w.state.owes(touched)
		if err := w.touch(ctx, nonce); err != nil {
			return err
		}
		w.state.touched(w.now())
		if err := w.await(ctx, nonce); err != nil {
			return err
		}
		w.state.proven(touched, w.now())
		select {
		case <-w.state.wanted:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *watchdog) touch(ctx context.Context, nonce string) error {
	delay := w.tuning.retryDelay()
	for {
		c, cancel := context.WithTimeout(ctx, w.tuning.SilenceBound)
		err := w.canary.touch(c, w.store, nonce)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.log.Warn("touch canary", zap.Error(err))
		delay.sleep(ctx)
	}
}

func (w *watchdog) await(ctx context.Context, nonce string) error {
	bound := time.NewTimer(w.tuning.SilenceBound)
	defer bound.Stop()
	for {
		select {
		case echo := <-w.echoes:
			if echo == nonce {
				return nil
			}
		case <-bound.C:
			return errSilent
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
