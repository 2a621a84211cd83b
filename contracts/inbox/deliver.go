package inbox

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
)

// delivery is one message on its way.
type delivery struct {
	*Inbox
	ctx     context.Context //nolint:containedctx // of the receiving; a delivery lives within one call
	message Message
	record  *contracts.Record
	others  bool             // the event names consumers, and this is none of them
	faults  contracts.Faults // why the message cannot be handled; nil: it can
	event   *Event
	ask     Ask
	effect  effect
	heldFor time.Duration // what of Options.Hold is used up
	polls   int
	log     *slog.Logger
}

// deliver reports whether the message is to be acknowledged.
func (i *Inbox) deliver(ctx context.Context, m Message, e effect) bool {
	if to := m.Attributes[contracts.AttrConsumer]; to != "" && to != i.consumer {
		return true // the replay of another's dead letter
	}
	if ctx.Err() != nil {
		return false
	}
	d := &delivery{Inbox: i, ctx: ctx, message: m, effect: e}
	d.faults = d.read()
	switch {
	case d.others:
		return true // it comes by a topic in common with those that it names
	case d.faults != nil && !d.claimable():
		return d.refuse()
	}
	if d.faults == nil && d.hanging.Load() >= int64(d.opts.MaxHanging) {
		d.log.Error("no event is handled: too many handlers do not return", "handlers", d.opts.MaxHanging)
		rest(d.ctx, d.opts.Hold)
		return false
	}
	for {
		claim, err := d.claim()
		if err != nil || d.ctx.Err() != nil { // the receiving has ended: what may be claimed is given back
			if err != nil || claim.Verdict == Claimed {
				d.release()
			}
			return false
		}
		var again bool
		switch claim.Verdict {
		case Processed, Dead:
			return true
		case Claimed:
			var ack bool
			if ack, again = d.handle(claim); !again {
				return ack
			}
		default:
			again = d.wait(claim)
		}
		if !again {
			return false
		}
	}
}

// claim asks for the event until the store answers, or the receiving ends. Meanwhile
// the next message of the aggregate does not come, so that an outage of the store
// changes no order.
func (d *delivery) claim() (Claim, error) {
	d.ask.Token = uuid.NewString()
	for delay := firstDelay; ; delay = min(2*delay, lastDelay) {
		// Not cut off by the end of the receiving: nobody would know whether it is claimed.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), d.opts.Grace)
		stop := context.AfterFunc(d.ctx, func() {
			time.AfterFunc(d.opts.Grace/2, cancel) // the other half is for giving it back
		})
		claim, err := d.store.Claim(ctx, d.ask)
		stop()
		cancel()
		if err == nil {
			return claim, nil
		}
		if d.ctx.Err() == nil {
			d.log.Warn("claim event", "error", err)
		}
		if !rest(d.ctx, delay) {
			return Claim{}, err
		}
	}
}

// Between calls of a store that fails.
const (
	firstDelay = 100 * time.Millisecond
	lastDelay  = 5 * time.Second
)

// handle has a claimed event handled. again: it is to be claimed again.
func (d *delivery) handle(c Claim) (ack, again bool) {
	switch {
	case d.faults != nil:
		c.Failures, c.Errors = c.Failures+1, append(c.Errors, d.violation(c.Failures+1))
		return d.bury(c, contracts.ContractViolation)
	case d.exhausted(c):
		return d.bury(c, contracts.AttemptsExhausted)
	}
	event := *d.event // a handler that was left behind may still read the one before
	event.Attempt, event.Ref = c.Failures+1, d.ask.Ref
	d.event = &event
	err := d.attempt()
	switch {
	case err == nil:
		d.outages.over(d.ask.EventID)
		if d.effect.settles {
			return true, false
		}
		return d.settle(EndProcessed), false
	case errors.Is(err, ErrLost):
		d.log.Warn("the claim of an event was lost while it was handled")
		return false, false
	case errors.Is(err, errStopped): // no fault of the event
		d.giveBack(contracts.AttemptError{}, 0)
		return false, false
	}
	failure := contracts.AttemptError{
		At: now(), Attempt: d.event.Attempt, Target: d.consumer, Code: codeOf(err), Message: bound(contracts.MessageOf(err), contracts.MaxErrorBytes),
	}
	kind := contracts.KindOf(err)
	if kind != contracts.Outage {
		d.outages.over(d.ask.EventID)
	}
	if kind == contracts.Permanent && d.opts.DeadLetters != nil {
		c.Failures, c.Errors = c.Failures+1, append(c.Errors, failure)
		return d.bury(c, contracts.PermanentFailure)
	}
	wait := d.delay(c.Failures)
	if kind == contracts.Outage {
		wait = d.outages.met(d.ask.EventID, d.opts.Delays[0])
		failure.Code = "" // which is not counted
	}
	d.log.Warn("handle event", "attempt", d.event.Attempt, "kind", kind.String(), "error", err, "next", wait)
	if !d.giveBack(failure, wait) {
		return false, false
	}
	return false, wait == 0 || d.wait(Claim{Verdict: Early, Wait: wait})
}

// exhausted reports whether a claimed event is to be buried rather than handled.
func (d *delivery) exhausted(c Claim) bool {
	return d.opts.DeadLetters != nil && (c.Failures >= d.opts.MaxTries || c.Takeovers >= d.opts.MaxTakeovers)
}

// delay is the wait after a failure, of which there were so many before. After the last it
// is 0: the event is claimed once more, to be buried.
func (d *delivery) delay(failures int) time.Duration {
	if failures+1 >= d.opts.MaxTries && d.opts.DeadLetters != nil {
		return 0
	}
	return d.opts.Delays[min(failures, len(d.opts.Delays)-1)]
}

// settle notes the end of the event, and reports whether that stands.
func (d *delivery) settle(end End) bool {
	return d.insist("settle event", func(ctx context.Context) error {
		return d.store.Settle(ctx, d.ask.Ref, end, d.opts.Retention)
	})
}

// giveBack gives the claim up, and reports whether that stands.
func (d *delivery) giveBack(failure contracts.AttemptError, wait time.Duration) bool {
	return d.insist("give event back", func(ctx context.Context) error {
		return d.store.GiveBack(ctx, d.ask.Ref, failure, wait)
	})
}

// release gives up what may be claimed, where the receiving ended before its handler was called.
func (d *delivery) release() {
	d.insistFor(d.opts.Grace/2, "give event back", func(ctx context.Context) error {
		return d.store.GiveBack(ctx, d.ask.Ref, contracts.AttemptError{}, 0)
	})
}

// insist calls until it succeeds, for as long as the claim's lease has room, and for the grace
// when the receiving has ended.
func (d *delivery) insist(what string, call func(ctx context.Context) error) bool {
	return d.insistFor(d.opts.Grace, what, call)
}

func (d *delivery) insistFor(bound time.Duration, what string, call func(ctx context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), bound)
	defer cancel()
	for delay := firstDelay; ; delay = min(2*delay, lastDelay) {
		err := call(ctx)
		switch {
		case err == nil:
			return true
		case errors.Is(err, ErrLost):
			d.log.Warn(what, "error", err)
			return false
		}
		d.log.Warn(what, "error", err)
		if !rest(ctx, delay) {
			return false
		}
	}
}

// rest waits, and reports false where ctx ends first.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// now is the time of a failure, in the microseconds that the stores keep.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
